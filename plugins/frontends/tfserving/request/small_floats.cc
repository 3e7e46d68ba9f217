#include "frontends/tfserving/request/small_floats.h"

#include <bit>
#include <cmath>

namespace atl::frontends::tfserving {
namespace {

constexpr uint16_t kHalfInfinity = 0x7C00;
constexpr uint16_t kHalfNan = 0x7E00;

}  // namespace

uint16_t half_of(float value) noexcept {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | kHalfNan;
  if (std::isinf(value)) return sign | kHalfInfinity;
  if (size == 0) return sign;
  int exponent = 0;
  (void)std::frexp(size, &exponent);  // size = m * 2^exponent, 0.5 <= m < 1
  // Below 2^-14 all steps are 2^-24; else 11 bits of the number.
  const int step = exponent - 1 < -14 ? -24 : exponent - 11;
  // Exact but for this rounding, to even. What overflows into the next exponent has the right bits of itself.
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, -step)));
  const uint32_t bits = (static_cast<uint32_t>(step + 24) << 10) + steps;
  return bits >= kHalfInfinity ? sign | kHalfInfinity : static_cast<uint16_t>(sign | bits);
}

float float_of_half(uint16_t bits) noexcept {
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  float size;
  if (exponent == 0x1F) {
    size = fraction == 0 ? INFINITY : NAN;
  } else {
    size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                         : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

uint16_t bfloat_of(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float float_of_bfloat(uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace atl::frontends::tfserving
