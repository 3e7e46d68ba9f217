#include "frontends/common/json/json_output.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace atl::frontends {
namespace {

TEST(JsonOutput, MemoryThatIsNotThereIsAFailure) {
  JsonOutput output;
  output.append("x");
  EXPECT_FALSE(output.reserve(SIZE_MAX / 4));
  EXPECT_TRUE(output.failed());
  output.append("y");
  output.Put('z');
  EXPECT_EQ(output.text(), "x");
  output.reset();
  output.append("y");
  EXPECT_FALSE(output.failed());
  EXPECT_EQ(output.text(), "y");
}

}  // namespace
}  // namespace atl::frontends
