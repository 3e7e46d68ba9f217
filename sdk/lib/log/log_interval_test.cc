#include "atoll/lib/log_interval.h"

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(LogInterval, TheFirstAndThenOneInEachInterval) {
  LogInterval interval(10);
  EXPECT_EQ(interval.next(5), 0u);
  EXPECT_EQ(interval.next(5), std::nullopt);
  EXPECT_EQ(interval.next(14), std::nullopt);
  EXPECT_EQ(interval.next(15), 2u);
  EXPECT_EQ(interval.next(24), std::nullopt);
  EXPECT_EQ(interval.next(100), 1u);
  EXPECT_EQ(interval.next(200), 0u);
}

}  // namespace
}  // namespace atl
