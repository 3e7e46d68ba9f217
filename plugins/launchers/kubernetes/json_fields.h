/// Members of JSON that somebody else has written: whatever is not there, or of another type, is empty.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace atl::launchers {

using Json = nlohmann::json;

/// The value at the end of the names; null: there is none.
inline const Json& field_at(const Json& object, std::initializer_list<const char*> names) {
  static const Json kNone;
  const Json* value = &object;
  for (const char* name : names) {
    if (!value->is_object()) return kNone;
    const auto member = value->find(name);
    if (member == value->end()) return kNone;
    value = &*member;
  }
  return *value;
}

inline std::string text_at(const Json& object, std::initializer_list<const char*> names) {
  const Json& value = field_at(object, names);
  return value.is_string() ? value.get<std::string>() : std::string();
}

inline int64_t number_at(const Json& object, std::initializer_list<const char*> names) {
  const Json& value = field_at(object, names);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

/// The item of a list whose "name" that is; null: there is none.
inline const Json& item_named(const Json& list, std::string_view name) {
  static const Json kNone;
  if (!list.is_array()) return kNone;
  for (const Json& item : list) {
    if (text_at(item, {"name"}) == name) return item;
  }
  return kNone;
}

/// A document; not an object: the text is none.
inline Json parse_json(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

/// As text, with bytes that are not UTF-8 replaced.
inline std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace atl::launchers
