/// Small JSON texts, as the answers of management calls are.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "frontends/common/json/json_writer.h"

namespace atl::frontends {

/// What `write` writes with the JsonWriter it is given.
template <class Write>
std::string json_text(Write&& write) {
  JsonOutput out;
  JsonWriter writer(out);
  write(writer);
  return std::string(out.text());
}

inline void write_key(JsonWriter& writer, std::string_view name) {
  writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}
inline void write_member(JsonWriter& writer, std::string_view name, std::string_view text) {
  write_key(writer, name);
  write_text(writer, text);
}
inline void write_member(JsonWriter& writer, std::string_view name, uint64_t number) {
  write_key(writer, name);
  writer.Uint64(number);
}
// A template, because a literal would rather become a bool than a string_view.
template <std::same_as<bool> T>
void write_member(JsonWriter& writer, std::string_view name, T flag) {
  write_key(writer, name);
  writer.Bool(flag);
}
/// An array, one call of `write` for each item.
template <class Items, class Write>
void write_array(JsonWriter& writer, const Items& items, Write&& write) {
  writer.StartArray();
  for (const auto& item : items) write(item);
  writer.EndArray();
}

}  // namespace atl::frontends
