#include "backends/cuda/toml_text.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "atoll/text.h"
#include "atoll/utf8.h"

namespace atl::cuda_backend {
namespace {

// The library recurses with the nesting, and its time grows with the product of an array's elements and bytes.
constexpr size_t kNestingMax = 16;
constexpr size_t kBracketBytesMax = 64 * 1024;
constexpr size_t kBracketElementsMax = 4096;

/// Where a string ends that begins at `at`, as far as this can be said without reading it all: a text that is misread
/// here is malformed, which the library will say.
size_t end_of_string(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool is_long = text.substr(at).starts_with(three);
  for (at += is_long ? 3 : 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (is_long ? text.substr(at).starts_with(three) : text[at] == quote || text[at] == '\n') {
      return at + (is_long ? 3 : 1);
    }
  }
  return text.size();
}

/// \param at  out: where \return null: nothing
const char* defect_of(std::string_view text, size_t& at) {
  for (at = 0; at < text.size();) {
    const size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0 || text[at] == '\0') return "found a byte that is no text, expected UTF-8";
    at += length;
  }
  size_t depth = 0, dots = 0, begin = 0, elements = 0;
  for (at = 0; at < text.size();) {
    const char sign = text[at];
    if (sign == '"' || sign == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (sign == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (sign == '[' || sign == '{') {
      if (depth++ == 0) begin = at, elements = 0;
    } else if ((sign == ']' || sign == '}') && depth != 0) {
      --depth;
    } else if (sign == ',') {
      ++elements;
    } else if (sign == '\n') {
      dots = 0;
    } else if (sign == '.') {
      ++dots;
    }
    if (depth > kNestingMax || dots > kBracketElementsMax) return "is nested too deeply";
    if (depth == 0 && dots > kNestingMax) return "found a key of too many parts";
    if (depth != 0 && (elements > kBracketElementsMax || at - begin > kBracketBytesMax))
      return "found an array or inline table of more than 4096 elements or 64 KiB";
    ++at;
  }
  return nullptr;
}

/// The library's report is a drawing of several lines: "[error] toml::parse_table: invalid line format", then lines of the
/// text with their numbers.
Status syntax_error(const std::string& report, const std::string& file) {
  std::istringstream lines(report);
  std::string title, line;
  std::getline(lines, title);
  size_t number = 0;
  while (number == 0 && std::getline(lines, line)) {
    if (line.find(" | ") != std::string::npos) number = std::strtoul(line.c_str(), nullptr, 10);
  }
  if (title.starts_with("[error] ")) title.erase(0, 8);
  const size_t function_end = title.find(": ");
  if (title.starts_with("toml::"))
    title.erase(0, function_end == std::string::npos ? title.size() : function_end + 2);
  if (title.empty()) title = "invalid value";
  if (number == 0) return invalid_argument(file, ": is no TOML: ", title);
  return invalid_argument(file, ": line ", number, " is no TOML: ", title);
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& file) noexcept {
  size_t at = 0;
  if (const char* defect = defect_of(text, at)) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n');
    return invalid_argument(file, ": line ", line, ": ", defect);
  }
  try {
    std::istringstream stream{std::string(text)};
    return toml::table(toml::parse(stream, file).as_table());
  } catch (const std::exception& error) {
    return syntax_error(error.what(), file);
  }
}

const char* toml_type_name(const toml::value& value) noexcept {
  switch (value.type()) {
    case toml::value_t::boolean:
      return "true or false";
    case toml::value_t::integer:
      return "an integer";
    case toml::value_t::floating:
      return "a floating-point number";
    case toml::value_t::string:
      return "a string";
    case toml::value_t::array:
      return "an array";
    case toml::value_t::table:
      return "a table";
    default:
      return "a date or time";
  }
}

const toml::value* TomlFields::find(const std::string& key) {
  known_.push_back(key);
  const auto found = table_.find(key);
  return found == table_.end() ? nullptr : &found->second;
}

Status TomlFields::wrong_type(const std::string& key, const toml::value& value,
                              std::string_view expected) const {
  return wrong(key, "found ", toml_type_name(value), ", expected ", expected);
}

Result<std::string> TomlFields::text(const std::string& key) {
  const toml::value* value = find(key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong_type(key, *value, "a string");
  if (value->as_string().str.empty()) return wrong(key, "found an empty string");
  return value->as_string().str;
}

Status TomlFields::flag(const std::string& key, bool& value) {
  const toml::value* found = find(key);
  if (found == nullptr) return {};
  if (!found->is_boolean()) return wrong_type(key, *found, "true or false");
  value = found->as_boolean();
  return {};
}

Result<const toml::array*> TomlFields::array(const std::string& key) {
  const toml::value* value = find(key);
  if (value == nullptr) return static_cast<const toml::array*>(nullptr);
  if (!value->is_array()) return wrong_type(key, *value, "an array");
  return &value->as_array();
}

Result<const toml::table*> TomlFields::table(const std::string& key) {
  const toml::value* value = find(key);
  if (value == nullptr) return static_cast<const toml::table*>(nullptr);
  if (!value->is_table()) return wrong_type(key, *value, "a table");
  return &value->as_table();
}

Status TomlFields::finish() const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : table_) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) unknown.push_back(key);
  }
  if (unknown.empty()) return {};
  std::string expected;
  for (const std::string& key : known_) expected += cat(expected.empty() ? "" : ", ", key);
  return invalid_argument(where_, ": found '", *std::min_element(unknown.begin(), unknown.end()),
                          "', expected ", expected);
}

}  // namespace atl::cuda_backend
