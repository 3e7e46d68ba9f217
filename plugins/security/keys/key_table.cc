#include "security/keys/key_table.h"

#include <algorithm>

namespace atl::keys {
namespace {

/// Reads every byte of what was presented, whatever the first ones are.
bool equal_in_constant_time(std::string_view expected, std::string_view presented) noexcept {
  unsigned difference = expected.size() == presented.size() ? 0 : 1;
  for (size_t i = 0; i < presented.size(); ++i) {
    const char other = expected.empty() ? '\0' : expected[i % expected.size()];
    difference |= static_cast<unsigned char>(presented[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

/// What of an entry may be shown: not what could be the secret.
std::string without_value(std::string_view entry) {
  size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return std::string(entry);
  return cat(entry.substr(0, equals), "=...");
}

Status wrong_form(std::string_view word, std::string_view entry) noexcept {
  return invalid_argument("restricted ", word, " format is '<category>,<category>:<key>=<value>'. Got ",
                          without_value(entry));
}

std::string header_name(std::string_view prefix, std::string_view key) {
  std::string name = cat(prefix, key);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

bool is_metadata_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/// `categories`: not found.
uint32_t find_category(std::string_view name, uint32_t categories) noexcept {
  uint32_t found = 0;
  while (found < categories && api_category_name(static_cast<ApiCategory>(found)) != name) ++found;
  return found;
}

}  // namespace

Result<KeyTable> KeyTable::parse(const std::vector<std::string>& entries, const Protocol& protocol) noexcept {
  const std::string_view word = protocol.word;
  KeyTable table;
  for (std::string_view entry : entries) {
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0) return wrong_form(word, entry);
    const size_t equals = entry.find('=', colon);
    if (equals == std::string_view::npos || equals == colon + 1 || equals + 1 == entry.size()) {
      return wrong_form(word, entry);
    }
    const std::string_view key = entry.substr(colon + 1, equals - colon - 1);
    const std::string header = header_name(protocol.prefix, key);
    // No client could send it.
    if (protocol.is_metadata && !std::all_of(header.begin(), header.end(), is_metadata_byte)) {
      return invalid_argument("restricted ", word, " key '", key,
                              "' cannot be the name of metadata, expected letters, digits, '-', '_', '.'");
    }
    std::string_view names = entry.substr(0, colon);
    while (true) {
      const size_t comma = names.find(',');
      const std::string_view name = names.substr(0, comma);
      const uint32_t category = find_category(name, protocol.categories);
      const bool is_own = is_own_category(name);
      if (category == protocol.categories && !is_own) {
        return invalid_argument("unknown restricted ", word, " '", name, "' ");
      }
      Key& place = is_own ? table.own_keys_[std::string(name)] : table.keys_[category];
      if (!place.name.empty()) {
        return invalid_argument("restricted ", word, " '", name,
                                "' can not be specified in multiple config groups");
      }
      place = {std::string(key), header, std::string(entry.substr(equals + 1))};
      if (comma == std::string_view::npos) break;
      names.remove_prefix(comma + 1);
    }
  }
  return table;
}

bool opens(const KeyTable::Key& key, std::span<const std::string_view> presented) noexcept {
  return presented.size() == 1 && equal_in_constant_time(key.value, presented[0]);
}

}  // namespace atl::keys
