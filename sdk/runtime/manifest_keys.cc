#include "atoll/runtime/manifest_keys.h"

#include <algorithm>
#include <utility>

#include "atoll/core/text.h"

namespace atl::runtime {

std::string toml_text(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += cat("\\u00", kHex[byte >> 4], kHex[byte & 15]);
    } else {
      out += c;
    }
  }
  return out + '"';
}

void ManifestKeys::set(std::string_view key, bool value) { values_[std::string(key)] = cat(value); }
void ManifestKeys::set(std::string_view key, int64_t value) { values_[std::string(key)] = cat(value); }
void ManifestKeys::set(std::string_view key, double value) { values_[std::string(key)] = cat(value); }
void ManifestKeys::set(std::string_view key, std::string_view text) {
  values_[std::string(key)] = toml_text(text);
}
void ManifestKeys::set(std::string_view key, std::vector<std::string> texts) {
  lists_.insert_or_assign(std::string(key), std::move(texts));
}
void ManifestKeys::add(std::string_view key, std::string_view text) {
  lists_[std::string(key)].emplace_back(text);
}
void ManifestKeys::put(std::string_view key, std::string_view member, std::string_view text) {
  tables_[std::string(key)].insert_or_assign(std::string(member), std::string(text));
}

std::map<std::string, std::string> ManifestKeys::toml() const {
  std::map<std::string, std::string> out(values_.begin(), values_.end());
  for (const auto& [key, texts] : lists_) {
    std::string list;
    for (const std::string& text : texts) list += cat(list.empty() ? "" : ", ", toml_text(text));
    out[key] = cat("[", list, "]");
  }
  for (const auto& [key, members] : tables_) {
    std::string table;
    for (const auto& [member, text] : members) {
      table += cat(table.empty() ? "" : ", ", toml_text(member), " = ", toml_text(text));
    }
    out[key] = cat("{", table, "}");
  }
  return out;
}

std::vector<std::string> ManifestKeys::overrides() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : toml()) out.push_back(cat(key, "=", value));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace atl::runtime
