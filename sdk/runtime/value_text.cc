#include "atoll/runtime/value_text.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <span>

#include "atoll/core/moved_option.h"
#include "atoll/core/quantity.h"
#include "atoll/core/text.h"

namespace atl::runtime {
namespace {

/// As TOML has a basic string.
std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      made.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04X", static_cast<unsigned>(c));
      made += escape;
    } else {
      made.push_back(c);
    }
  }
  return made + '"';
}

std::string key_text(std::string_view key) {
  const bool is_bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return is_bare ? std::string(key) : quoted(key);
}

std::string quantity_text(uint64_t value, std::span<const quantity_detail::Unit> units) {
  size_t best = 0;
  for (size_t i = 1; i < units.size(); ++i) {
    if (value != 0 && value % units[i].factor == 0) best = i;
  }
  return cat('"', value / units[best].factor, units[best].name, '"');
}

struct Write {
  uint32_t type;

  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const {
    return type == ATOLL_OPTION_DURATION && value >= 0
               ? value == 0 ? "\"0s\""
                            : quantity_text(static_cast<uint64_t>(value), quantity_detail::kTimeUnits)
               : cat(value);
  }
  std::string operator()(double value) const { return cat(value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(uint64_t value) const {
    return value == 0 ? "0" : quantity_text(value, std::span(quantity_detail::kByteUnits).subspan(1));
  }
  std::string operator()(const std::vector<std::string>& value) const {
    std::string made;
    for (const std::string& one : value) made += cat(made.empty() ? "" : ", ", quoted(one));
    return cat('[', made, ']');
  }
  std::string operator()(const std::map<std::string, std::string>& value) const {
    std::string made;
    for (const auto& [key, text] : value)
      made +=
          cat(made.empty() ? " " : ", ", key_text(key), " = ", names_secret(key) ? "\"***\"" : quoted(text));
    return made.empty() ? "{}" : cat('{', made, " }");
  }
};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool names_secret(std::string_view name) {
  constexpr std::string_view kSecrets[] = {"password",   "passphrase",  "secret",    "token",
                                           "credential", "credentials", "restricted"};
  constexpr std::string_view kPlaces[] = {"file", "path", "header"};
  const auto is_among = [](const auto& words, const std::string& word) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  };
  bool found = false;
  std::string word, last;
  for (size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : '_';
    if (is_letter_or_digit(c)) {
      word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    } else if (!word.empty()) {
      found = found || is_among(kSecrets, word);
      last.swap(word);
      word.clear();
    }
  }
  return found && !is_among(kPlaces, last);
}

bool is_secret(const atoll_option_v1& row) {
  if ((row.flags & ATOLL_OPTION_SECRET) != 0) return true;
  const bool is_text = row.type == ATOLL_OPTION_STRING || row.type == ATOLL_OPTION_STRING_LIST ||
                       row.type == ATOLL_OPTION_STRING_MAP;
  return is_text && row.choices == nullptr && names_secret(row.key);
}

std::string value_text(const TypedValue& value) { return std::visit(Write{value.type}, value.data); }

}  // namespace atl::runtime
