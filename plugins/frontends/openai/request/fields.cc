#include "frontends/openai/request/fields.h"

#include "atoll/core/text.h"

namespace atl::frontends::openai {

std::string_view text_of(const CheckedValue& value) noexcept {
  return {value.GetString(), value.GetStringLength()};
}

std::string_view text_member(const CheckedValue& object, const char* name) noexcept {
  const auto member = object.FindMember(name);
  return member == object.MemberEnd() || !member->value.IsString() ? std::string_view()
                                                                   : text_of(member->value);
}

const CheckedValue* Fields::find(const char* name) const noexcept {
  const auto member = object_.FindMember(name);
  return member == object_.MemberEnd() || member->value.IsNull() ? nullptr : &member->value;
}

std::optional<double> Fields::number(const char* name, double least, double most) {
  const CheckedValue* const value = find(name);
  if (value == nullptr) return std::nullopt;
  // A NaN is in no range.
  if (value->IsNumber() && value->GetDouble() >= least && value->GetDouble() <= most)
    return value->GetDouble();
  fail(wrong_field(name, cat("'", name, "' has to be a number from ", least, " to ", most, ".")));
  return std::nullopt;
}

std::optional<int64_t> Fields::integer(const char* name, int64_t least, int64_t most) {
  const CheckedValue* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->IsInt64() && value->GetInt64() >= least && value->GetInt64() <= most) return value->GetInt64();
  fail(wrong_field(name, cat("'", name, "' has to be an integer from ", least, " to ", most, ".")));
  return std::nullopt;
}

bool Fields::flag(const char* name, bool fallback) {
  const CheckedValue* const value = find(name);
  if (value == nullptr) return fallback;
  if (value->IsBool()) return value->GetBool();
  fail(wrong_field(name, cat("'", name, "' has to be true or false.")));
  return fallback;
}

std::string_view Fields::text(const char* name) {
  const CheckedValue* const value = find(name);
  if (value == nullptr) return {};
  if (value->IsString()) return text_of(*value);
  fail(wrong_field(name, cat("'", name, "' has to be a string.")));
  return {};
}

}  // namespace atl::frontends::openai
