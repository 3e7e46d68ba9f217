#include "frontends/tfserving/request/small_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace atl::frontends::tfserving {
namespace {

TEST(SmallFloats, EveryHalfComesBack) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = float_of_half(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_of_half(half_of(value)))) << bits;
    } else {
      EXPECT_EQ(half_of(value), bits);
    }
  }
}

TEST(SmallFloats, HalvesAreRoundedToEven) {
  EXPECT_EQ(float_of_half(half_of(2049)), 2048);
  EXPECT_EQ(float_of_half(half_of(2051)), 2052);
  EXPECT_EQ(float_of_half(half_of(65519)), 65504);
  EXPECT_TRUE(std::isinf(float_of_half(half_of(65520))));
  EXPECT_EQ(half_of(std::ldexp(1.0F, -25)), 0) << "half of the smallest one";
  EXPECT_EQ(half_of(std::ldexp(1.5F, -25)), 1);
}

TEST(SmallFloats, EveryBfloatComesBack) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = float_of_bfloat(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(bfloat_of(value), bits);
    }
  }
  EXPECT_TRUE(std::isnan(float_of_bfloat(bfloat_of(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(float_of_bfloat(bfloat_of(257)), 256);
  EXPECT_EQ(float_of_bfloat(bfloat_of(259)), 260);
}

}  // namespace
}  // namespace atl::frontends::tfserving
