#include "backends/cuda/code/toml_fields.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "atoll/core/text.h"

namespace atl::cuda_backend {

const char* toml_type_name(const RawValue& value) noexcept {
  static constexpr const char* kNames[] = {"true or false", "an integer",     "a floating-point number",
                                           "a string",      "a date or time", "an array",
                                           "a table"};
  static_assert(std::size(kNames) == std::variant_size_v<decltype(value.data)>);
  return kNames[value.data.index()];
}

const RawValue* TomlFields::find(const std::string& key) {
  known_.push_back(key);
  const RawValue::Member* found = table_.find(key);
  return found == nullptr ? nullptr : &found->value;
}

const lib::SourceLocation& TomlFields::place_of(std::string_view key) const {
  const size_t bracket = std::min(key.find('['), key.size());
  const RawValue::Member* member = table_.find(key.substr(0, bracket));
  if (member == nullptr) return table_.where;
  const auto* elements = std::get_if<RawValue::Array>(&member->value.data);
  size_t i = 0;
  if (elements == nullptr || bracket == key.size() ||
      std::from_chars(key.data() + bracket + 1, key.data() + key.size(), i).ec != std::errc() ||
      i >= elements->size()) {
    return member->value.where;
  }
  return (*elements)[i].where;
}

std::string TomlFields::titled(const lib::SourceLocation& place) const {
  return cat(lib::location_text(place), title_.empty() ? "" : ": ", title_);
}

std::string TomlFields::where(std::string_view key) const { return titled(place_of(key)); }

Status TomlFields::wrong_type(const std::string& key, const RawValue& value,
                              std::string_view expected) const {
  return invalid_argument(titled(value.where), ": ", key, ": found ", toml_type_name(value), ", expected ",
                          expected);
}

Result<std::string> TomlFields::text(const std::string& key) {
  const RawValue* value = find(key);
  if (value == nullptr) return std::string();
  const auto* text = std::get_if<std::string>(&value->data);
  if (text == nullptr) return wrong_type(key, *value, "a string");
  if (text->empty()) return wrong(key, "found an empty string");
  return *text;
}

Status TomlFields::flag(const std::string& key, bool& value) {
  const RawValue* found = find(key);
  if (found == nullptr) return {};
  const bool* flag = std::get_if<bool>(&found->data);
  if (flag == nullptr) return wrong_type(key, *found, "true or false");
  value = *flag;
  return {};
}

Result<const RawValue::Array*> TomlFields::array(const std::string& key) {
  const RawValue* value = find(key);
  if (value == nullptr) return static_cast<const RawValue::Array*>(nullptr);
  const auto* array = std::get_if<RawValue::Array>(&value->data);
  if (array == nullptr) return wrong_type(key, *value, "an array");
  return array;
}

Result<const RawValue*> TomlFields::table(const std::string& key) {
  const RawValue* value = find(key);
  if (value != nullptr && value->table() == nullptr) return wrong_type(key, *value, "a table");
  return value;
}

Status TomlFields::finish() const {
  const auto& members = *table_.table();
  const auto unknown = std::find_if(members.begin(), members.end(), [this](const RawValue::Member& member) {
    return std::find(known_.begin(), known_.end(), member.key) == known_.end();
  });
  if (unknown == members.end()) return {};
  std::string expected;
  for (const std::string& key : known_) expected += cat(expected.empty() ? "" : ", ", key);
  return invalid_argument(titled(unknown->where), ": found '", unknown->key, "', expected ", expected);
}

}  // namespace atl::cuda_backend
