#include "ptx.h"

#include <cctype>
#include <charconv>

namespace atl::cuda_double {
namespace {

/// Words and single signs, without comments.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  /// Empty: the end.
  std::string_view next() {
    skip_space();
    if (text_.empty()) return {};
    size_t length = 0;
    while (length < text_.size() && is_word(text_[length])) ++length;
    if (length == 0) length = 1;
    const std::string_view token = text_.substr(0, length);
    text_.remove_prefix(length);
    return token;
  }
  std::string_view peek() {
    Tokens copy = *this;
    return copy.next();
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' || c == '%';
  }
  void skip_space() {
    while (!text_.empty()) {
      if (std::isspace(static_cast<unsigned char>(text_.front())) != 0) {
        text_.remove_prefix(1);
      } else if (text_.starts_with("//")) {
        text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      } else if (text_.starts_with("/*")) {
        const size_t end = text_.find("*/");
        text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 2);
      } else {
        return;
      }
    }
  }
  std::string_view text_;
};

template <class Number>
bool to_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// \return 0: no type
uint64_t bytes_of_type(std::string_view type) {
  uint64_t bits = 0;
  if (type.size() < 3 || type[0] != '.' || std::string_view("bsuf").find(type[1]) == std::string_view::npos)
    return 0;
  return to_number(type.substr(2), bits) && bits % 8 == 0 ? bits / 8 : 0;
}

/// ".param .u64 .ptr .global .align 4 name" or ".param .align 8 .b8 name[16]", up to ',' or ')'.
bool read_parameter(Tokens& tokens, PtxEntry& entry) {
  uint64_t bytes = 0;
  uint64_t count = 1;
  uint64_t alignment = 0;
  bool is_pointer = false;
  while (true) {
    const std::string_view next = tokens.peek();
    if (next.empty()) return false;
    if (next == "," || next == ")") break;
    const std::string_view token = tokens.next();
    if (token == ".ptr") {
      is_pointer = true;
    } else if (token == ".align") {
      // After .ptr it is of what the pointer leads to.
      if (uint64_t value = 0; !to_number(tokens.next(), value) || value == 0)
        return false;
      else if (!is_pointer)
        alignment = value;
    } else if (token == "[") {
      if (!to_number(tokens.next(), count) || tokens.next() != "]") return false;
    } else if (const uint64_t found = bytes_of_type(token); found != 0 && bytes == 0) {
      bytes = found;
    }
  }
  if (bytes == 0) return false;
  if (alignment == 0) alignment = bytes;
  uint64_t offset =
      entry.parameters.empty() ? 0 : entry.parameters.back().offset + entry.parameters.back().bytes;
  offset = (offset + alignment - 1) / alignment * alignment;
  entry.parameters.push_back({offset, bytes * count});
  return true;
}

bool read_entry(Tokens& tokens, PtxEntry& entry) {
  entry.name = tokens.next();
  if (tokens.peek() != "(") return true;
  tokens.next();
  if (tokens.peek() == ")") return true;
  do {
    if (tokens.next() != ".param" || !read_parameter(tokens, entry)) return false;
  } while (tokens.next() == ",");
  return true;
}

}  // namespace

std::optional<PtxModule> read_ptx(std::string_view text, std::string& problem) {
  PtxModule module;
  Tokens tokens(text);
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == ".version") {
      const std::string_view version = tokens.next();
      const size_t dot = version.find('.');
      int32_t major = 0;
      int32_t minor = 0;
      if (dot == std::string_view::npos || !to_number(version.substr(0, dot), major) ||
          !to_number(version.substr(dot + 1), minor)) {
        problem = ".version is none";
        return {};
      }
      module.version = 10 * major + minor;
    } else if (token == ".target") {
      std::string_view target = tokens.next();
      if (!target.starts_with("sm_") ||
          std::from_chars(target.data() + 3, target.data() + target.size(), module.target).ec !=
              std::errc()) {
        problem = ".target is none";
        return {};
      }
    } else if (token == ".entry") {
      PtxEntry entry;
      if (!read_entry(tokens, entry)) {
        problem = "parameters of " + entry.name;
        return {};
      }
      module.entries.push_back(std::move(entry));
    }
  }
  if (module.version != 0 && module.target != 0) return module;
  problem = "no .version or .target";
  return {};
}

}  // namespace atl::cuda_double
