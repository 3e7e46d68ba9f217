#include "frontends/http/codec/json_values.h"

namespace atl::frontends::http {
namespace {

template <class T>
Status read(std::string_view name, JsonElement value, JsonKind kind, T* out) noexcept {
  if (value.get<T>().get(*out) == simdjson::SUCCESS) return {};
  return wrong_kind(name, kind);
}

}  // namespace

std::string_view wrong_kind_text(JsonKind wanted) noexcept {
  switch (wanted) {
    case JsonKind::kBool:
      return "attempt to access JSON non-boolean as boolean";
    case JsonKind::kInt:
      return "attempt to access JSON non-signed-integer as signed-integer";
    case JsonKind::kUint:
      return "attempt to access JSON non-unsigned-integer as unsigned-integer";
    case JsonKind::kNumber:
      return "attempt to access JSON non-number as double";
    case JsonKind::kString:
      return "attempt to access JSON non-string as string";
    case JsonKind::kArray:
      return "attempt to access JSON non-array as array";
    default:
      return "attempt to access JSON non-object as object";
  }
}

Status wrong_kind(std::string_view name, JsonKind wanted) noexcept {
  return invalid_argument("Unable to parse '", name, "': ", wrong_kind_text(wanted));
}

Status missing_member(std::string_view name) noexcept {
  return invalid_argument("Unable to parse '", name, "': attempt to access non-existing object member '",
                          name, "'");
}

Status read_bool(std::string_view name, JsonElement value, bool* out) noexcept {
  return read(name, value, JsonKind::kBool, out);
}
Status read_uint(std::string_view name, JsonElement value, uint64_t* out) noexcept {
  return read(name, value, JsonKind::kUint, out);
}
Status read_string(std::string_view name, JsonElement value, std::string_view* out) noexcept {
  return read(name, value, JsonKind::kString, out);
}
Status read_array(std::string_view name, JsonElement value, JsonArray* out) noexcept {
  return read(name, value, JsonKind::kArray, out);
}
Status read_object(std::string_view name, JsonElement value, JsonObject* out) noexcept {
  return read(name, value, JsonKind::kObject, out);
}

Status find_members(JsonObject object, std::span<JsonMember> members) noexcept {
  for (const simdjson::dom::key_value_pair& field : object) {
    for (JsonMember& member : members) {
      if (member.name != field.key) continue;
      if (member.present) {
        return invalid_argument("the JSON object has the member '", member.name, "' twice, expected once");
      }
      member.value = field.value;
      member.present = true;
      break;
    }
  }
  return {};
}

}  // namespace atl::frontends::http
