#include "frontends/http/management/json_body.h"

#include <unordered_set>

namespace atl::frontends::http {

Status JsonBody::parse(std::string_view text) noexcept {
  ATOLL_RETURN_IF_ERROR(document_.parse_unpadded(text));
  if (document_.root().get_object().get(object_) != simdjson::SUCCESS) {
    return Status(Code::kInvalidArgument, std::string(wrong_kind_text(JsonKind::kObject)));
  }
  return check_members(object_);
}

Status JsonBody::parse_optional(std::string_view text) noexcept { return parse(text.empty() ? "{}" : text); }

Status check_members(JsonObject object) noexcept {
  std::unordered_set<std::string_view> names;
  for (const simdjson::dom::key_value_pair& field : object) {
    if (names.insert(field.key).second) continue;
    return invalid_argument("the JSON object has the member '", field.key, "' twice, expected once");
  }
  return {};
}

bool find_member(JsonObject object, std::string_view name, JsonElement* value) noexcept {
  return object.at_key(name).get(*value) == simdjson::SUCCESS;
}

}  // namespace atl::frontends::http
