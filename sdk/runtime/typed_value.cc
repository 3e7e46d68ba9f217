#include "atoll/runtime/typed_value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "atoll/core/quantity.h"
#include "atoll/core/text.h"
#include "atoll/runtime/option_table.h"

namespace atl::runtime {
namespace {

constexpr std::array<const char*, 8> kZeros = {"false", "0", "0", "", "0s", "0", "[]", "{}"};

template <class T>
std::optional<T> get(const RawValue& raw) {
  const T* value = std::get_if<T>(&raw.data);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

std::optional<double> number(const RawValue& raw) {
  if (auto whole = get<int64_t>(raw)) return static_cast<double>(*whole);
  auto value = get<double>(raw);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<uint64_t> bytes(const RawValue& raw) {
  if (auto count = get<int64_t>(raw); count && *count >= 0) return static_cast<uint64_t>(*count);
  auto text = get<std::string>(raw);
  return text ? parse_bytes(*text) : std::nullopt;
}

std::optional<int64_t> duration(const RawValue& raw) {
  auto text = get<std::string>(raw);
  return text ? parse_duration_ns(*text) : std::nullopt;
}

std::optional<std::vector<std::string>> strings(const RawValue& raw) {
  const auto* array = std::get_if<RawValue::Array>(&raw.data);
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> out;
  for (const auto& element : *array) {
    auto text = get<std::string>(element);
    if (!text) return std::nullopt;
    out.push_back(std::move(*text));
  }
  return out;
}

/// A number in a table is as good as its text: weights and versions are written so.
std::optional<std::string> text_or_number(const RawValue& raw) {
  if (const auto whole = get<int64_t>(raw)) return cat(*whole);
  if (const auto value = number(raw)) return cat(*value);
  return get<std::string>(raw);
}

std::optional<std::map<std::string, std::string>> string_map(const RawValue& raw) {
  if (raw.table() == nullptr) return std::nullopt;
  std::map<std::string, std::string> out;
  for (const auto& member : *raw.table()) {
    auto text = text_or_number(member.value);
    if (!text) return std::nullopt;
    out.emplace(member.key, std::move(*text));
  }
  return out;
}

/// Both are of one type; only numbers have an order.
bool is_below(const TypedValue& a, const TypedValue& b) {
  bool ordered = std::holds_alternative<int64_t>(a.data) || std::holds_alternative<uint64_t>(a.data) ||
                 std::holds_alternative<double>(a.data);
  return ordered && a.data < b.data;
}

}  // namespace

std::optional<TypedValue> typed_value(uint32_t type, const RawValue& raw) {
  TypedValue value{type, false};
  auto fill = [&value](auto read) {
    if (read) value.data = std::move(*read);
    return read.has_value();
  };
  bool fits = false;
  if (type == ATOLL_OPTION_BOOL) fits = fill(get<bool>(raw));
  if (type == ATOLL_OPTION_INT) fits = fill(get<int64_t>(raw));
  if (type == ATOLL_OPTION_FLOAT) fits = fill(number(raw));
  if (type == ATOLL_OPTION_STRING) fits = fill(get<std::string>(raw));
  if (type == ATOLL_OPTION_DURATION) fits = fill(duration(raw));
  if (type == ATOLL_OPTION_BYTES) fits = fill(bytes(raw));
  if (type == ATOLL_OPTION_STRING_LIST) fits = fill(strings(raw));
  if (type == ATOLL_OPTION_STRING_MAP) fits = fill(string_map(raw));
  return fits ? std::optional<TypedValue>(std::move(value)) : std::nullopt;
}

TypedValue default_value(const atoll_option_v1& row) {
  auto value = row.default_value == nullptr ? std::nullopt : parse_typed_value(row.type, row.default_value);
  if (!value && row.type < kZeros.size()) value = parse_typed_value(row.type, kZeros[row.type]);
  return value ? std::move(*value) : TypedValue{};
}

std::optional<TypedValue> parse_typed_value(uint32_t type, const char* text) {
  if (type == ATOLL_OPTION_STRING || type == ATOLL_OPTION_DURATION || type == ATOLL_OPTION_BYTES) {
    RawValue raw;
    raw.data = std::string(text);
    return typed_value(type, raw);
  }
  auto raw = parse_literal(text);
  return raw ? typed_value(type, *raw) : std::nullopt;
}

bool is_allowed(const atoll_option_v1& row, const TypedValue& value) {
  if (row.choices != nullptr && value.type == ATOLL_OPTION_STRING) {
    auto choices = choices_of(row);
    if (std::find(choices.begin(), choices.end(), std::get<std::string>(value.data)) == choices.end())
      return false;
  }
  auto minimum = row.minimum == nullptr ? std::nullopt : parse_typed_value(row.type, row.minimum);
  auto maximum = row.maximum == nullptr ? std::nullopt : parse_typed_value(row.type, row.maximum);
  return !(minimum && is_below(value, *minimum)) && !(maximum && is_below(*maximum, value));
}

}  // namespace atl::runtime
