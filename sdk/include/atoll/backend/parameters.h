/// The parameters of a model's configuration, `parameters { key: "<key>" value { string_value: "<text>" } }`,
/// as values of other types. For load(): a wrong one is a failed load with a text that says all.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"

namespace atl::backends {

/// Nothing if the key is missing. Borrowed from the description.
inline std::optional<std::string_view> text_parameter(const ModelDescription& model, std::string_view key) {
  auto found = model.parameters.find(key);
  if (found == model.parameters.end()) return std::nullopt;
  return std::string_view(found->second);
}

namespace detail {

template <class T>
Result<T> number_parameter(const ModelDescription& model, std::string_view key, T fallback, T minimum,
                           T maximum, std::string_view what) {
  const std::optional<std::string_view> text = text_parameter(model, key);
  if (!text) return fallback;
  T value = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const bool is_number = error == std::errc() && end == text->data() + text->size();
  if (is_number && value >= minimum && value <= maximum) return value;
  return invalid_argument("model '", model.name, "': parameter '", key, "' is '", *text, "', expected ", what,
                          " from ", minimum, " to ", maximum);
}

}  // namespace detail

/// A decimal number. A missing key gives the fallback.
/// Errors: INVALID_ARGUMENT not a number, or outside minimum..maximum; names model, key, found, expected.
inline Result<int64_t> int_parameter(const ModelDescription& model, std::string_view key, int64_t fallback,
                                     int64_t minimum = std::numeric_limits<int64_t>::min(),
                                     int64_t maximum = std::numeric_limits<int64_t>::max()) {
  return detail::number_parameter(model, key, fallback, minimum, maximum, "a whole number");
}

/// The same with a fraction or an exponent.
inline Result<double> float_parameter(const ModelDescription& model, std::string_view key, double fallback,
                                      double minimum = std::numeric_limits<double>::lowest(),
                                      double maximum = std::numeric_limits<double>::max()) {
  return detail::number_parameter(model, key, fallback, minimum, maximum, "a number");
}

/// "true", "false", "1" or "0". Errors: INVALID_ARGUMENT any other text.
inline Result<bool> bool_parameter(const ModelDescription& model, std::string_view key, bool fallback) {
  const std::optional<std::string_view> text = text_parameter(model, key);
  if (!text) return fallback;
  if (*text == "true" || *text == "1") return true;
  if (*text == "false" || *text == "0") return false;
  return invalid_argument("model '", model.name, "': parameter '", key, "' is '", *text,
                          "', expected 'true', 'false', '1' or '0'");
}

}  // namespace atl::backends
