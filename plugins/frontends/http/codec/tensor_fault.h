/// Why an element of `data` is not taken, however it was read.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "frontends/http/codec/json_values.h"

namespace atl::frontends::http {

/// The smallest double that rounds to infinity as float.
inline constexpr double kFloatOverflow = 0x1.ffffffp127;

enum class Fault { kNone, kKind, kRange, kCount, kNesting };

template <class T>
constexpr JsonKind kind_of() noexcept {
  if constexpr (std::is_same_v<T, bool>) return JsonKind::kBool;
  if constexpr (std::is_floating_point_v<T>) return JsonKind::kNumber;
  return std::is_signed_v<T> ? JsonKind::kInt : JsonKind::kUint;
}

/// The number as an element of an integer type. \tparam Wide  int64_t or uint64_t
template <std::integral T, std::integral Wide>
Fault narrow(Wide number, T* to) noexcept {
  if (!std::in_range<T>(number)) return Fault::kRange;
  *to = static_cast<T>(number);
  return Fault::kNone;
}

/// The number as an element of a float type; infinity is one.
template <std::floating_point T>
Fault narrow(double number, T* to) noexcept {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if constexpr (std::is_same_v<T, float>) {
    const double magnitude = number < 0 ? -number : number;
    if (magnitude >= kFloatOverflow && magnitude != kInf) return Fault::kRange;
  }
  *to = static_cast<T>(number);
  return Fault::kNone;
}

}  // namespace atl::frontends::http
