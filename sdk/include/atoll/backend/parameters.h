/// The parameters of a model's configuration as values of other types. In a configuration every value is a
/// text:
///
///     parameters { key: "temperature" value { string_value: "0.5" } }
///
/// A backend reads them once, in load():
///
///     Result<double> temperature = backends::float_parameter(source.model, "temperature", 1.0, 0.001, 1000);
///     if (!temperature.ok()) return std::move(temperature).status();
///
/// A wrong value fails the load with a text that names the model, the parameter, what was found and what was
/// expected: "model 'm': parameter 'temperature' is 'hot', expected a number from 0.001 to 1000". Parameters
/// that nobody reads are no error. All functions only read the description; any thread may call them.
///
/// Parameters of a request are something else: Request::parameters (atoll/request/tensor.h).
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model_description.h"

namespace atl::backends {

/// The text as it is written; nothing if the key is missing. Borrowed from the description.
inline std::optional<std::string_view> text_parameter(const ModelDescription& model, std::string_view key) {
  // The map compares texts without making a std::string of the key.
  auto found = model.parameters.find(key);
  if (found == model.parameters.end()) return std::nullopt;
  return std::string_view(found->second);
}

/// Nothing in here is for callers; it may change with any version.
namespace detail {

/// What int_parameter() and float_parameter() have in common.
/// \param what  the kind of value, for the text of a failure
template <class T>
Result<T> number_parameter(const ModelDescription& model, std::string_view key, T fallback, T minimum,
                           T maximum, std::string_view what) {
  const std::optional<std::string_view> text = text_parameter(model, key);
  if (!text) return fallback;
  // from_chars knows no locale, so "0.5" is the same number on every machine.
  T value = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  // A text that only begins with a number, such as "5 seconds", is none.
  const bool is_number = error == std::errc() && end == text->data() + text->size();
  if (is_number && value >= minimum && value <= maximum) return value;
  // Names everything that an operator needs to correct the file.
  return invalid_argument("model '", model.name, "': parameter '", key, "' is '", *text, "', expected ", what,
                          " from ", minimum, " to ", maximum);
}

}  // namespace detail

/// A decimal number without a fraction, such as "-12". No blanks, no '+', no unit. A missing key gives the
/// fallback, which is not compared with the bounds.
/// Errors: INVALID_ARGUMENT the text is no such number, or the number is outside minimum..maximum.
inline Result<int64_t> int_parameter(const ModelDescription& model, std::string_view key, int64_t fallback,
                                     int64_t minimum = std::numeric_limits<int64_t>::min(),
                                     int64_t maximum = std::numeric_limits<int64_t>::max()) {
  return detail::number_parameter(model, key, fallback, minimum, maximum, "a whole number");
}

/// A decimal number that may have a fraction or an exponent, such as "0.5" or "1e-3". A missing key gives the
/// fallback.
/// Errors: INVALID_ARGUMENT as int_parameter().
inline Result<double> float_parameter(const ModelDescription& model, std::string_view key, double fallback,
                                      double minimum = std::numeric_limits<double>::lowest(),
                                      double maximum = std::numeric_limits<double>::max()) {
  return detail::number_parameter(model, key, fallback, minimum, maximum, "a number");
}

/// "true" or "1", "false" or "0". A missing key gives the fallback.
/// Errors: INVALID_ARGUMENT any other text.
inline Result<bool> bool_parameter(const ModelDescription& model, std::string_view key, bool fallback) {
  const std::optional<std::string_view> text = text_parameter(model, key);
  // As for numbers, a missing key is no mistake.
  if (!text) return fallback;
  if (*text == "true" || *text == "1") return true;
  if (*text == "false" || *text == "0") return false;
  return invalid_argument("model '", model.name, "': parameter '", key, "' is '", *text,
                          "', expected 'true', 'false', '1' or '0'");
}

}  // namespace atl::backends
