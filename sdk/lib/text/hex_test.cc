#include "atoll/lib/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace atl {
namespace {

TEST(Hex, HasTwoDigitsAByte) {
  EXPECT_EQ(hex({}), "");
  const std::array<uint8_t, 4> bytes = {0x00, 0x0f, 0xa0, 0xff};
  EXPECT_EQ(hex(bytes), "000fa0ff");
}

}  // namespace
}  // namespace atl
