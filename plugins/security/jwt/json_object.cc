#include "security/jwt/json_object.h"

#include <algorithm>
#include <vector>

namespace atl::jwt {

bool parse_object(std::string_view text, CheckedDocument& document) {
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(text.data(),
                                                                                         text.size());
  if (document.HasParseError() || !document.IsObject()) return false;
  std::vector<std::string_view> names;
  for (const auto& member : document.GetObject())
    names.emplace_back(member.name.GetString(), member.name.GetStringLength());
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

std::optional<std::string_view> text_member(const CheckedValue& object, const char* name) noexcept {
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString()) return std::nullopt;
  return std::string_view(found->value.GetString(), found->value.GetStringLength());
}

}  // namespace atl::jwt
