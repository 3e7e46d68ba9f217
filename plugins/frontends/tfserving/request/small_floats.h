/// FP16 and BF16, which C++ has no types for.
#pragma once

#include <cstdint>

namespace atl::frontends::tfserving {

/// The nearest, of two the even one; infinite beyond 65,504.
uint16_t half_of(float value) noexcept;
uint16_t bfloat_of(float value) noexcept;
float float_of_half(uint16_t bits) noexcept;
float float_of_bfloat(uint16_t bits) noexcept;

}  // namespace atl::frontends::tfserving
