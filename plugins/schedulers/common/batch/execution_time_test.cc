#include "schedulers/common/batch/execution_time.h"

#include <gtest/gtest.h>

namespace atl::schedulers {
namespace {

TEST(ExecutionTime, IsUnknownUntilEnoughExecutions) {
  ExecutionTime time(1'000'000);
  for (uint32_t i = 0; i < ExecutionTime::kSamplesMin; ++i) {
    EXPECT_FALSE(time.is_light()) << i;
    time.add(10);
  }
  EXPECT_TRUE(time.is_light());
}

TEST(ExecutionTime, LightMeansBelowTheLimit) {
  for (int64_t limit_ns : {100, 101}) {
    ExecutionTime time(limit_ns);
    for (int i = 0; i < 10; ++i) time.add(100);
    EXPECT_EQ(time.is_light(), limit_ns == 101);
  }
}

TEST(ExecutionTime, TheLimitsOfTheLimit) {
  ExecutionTime never(0), always(INT64_MAX);
  for (int i = 0; i < 10; ++i) {
    never.add(0);
    always.add(INT64_MAX / 2);
  }
  EXPECT_FALSE(never.is_light());
  EXPECT_TRUE(always.is_light());
}

TEST(ExecutionTime, FewInterruptedExecutionsChangeNothing) {
  ExecutionTime time(50'000);
  for (int i = 0; i < 10; ++i) time.add(2'000);
  time.add(30'000'000);
  EXPECT_TRUE(time.is_light());
  for (int i = 0; i < 40; ++i) {
    time.add(i % 8 == 7 ? 30'000'000 : 2'000);
    EXPECT_TRUE(time.is_light()) << i;
  }
}

TEST(ExecutionTime, HalfOfThemSlowIsHeavy) {
  ExecutionTime time(50'000);
  for (int i = 0; i < 40; ++i) time.add(i % 2 == 0 ? 60'000 : 2'000);
  EXPECT_FALSE(time.is_light());
}

TEST(ExecutionTime, FollowsAChange) {
  ExecutionTime time(50'000);
  for (int i = 0; i < 10; ++i) time.add(10'000);
  int slow = 0, quick = 0;
  for (; time.is_light(); ++slow) time.add(1'000'000);
  EXPECT_LE(slow, 3);
  for (; !time.is_light(); ++quick) time.add(10'000);
  EXPECT_GT(quick, 0);
  EXPECT_LT(quick, 20);
}

TEST(ExecutionTime, WhatWasCutShortIsNoShortExecution) {
  ExecutionTime time(50'000);
  for (int i = 0; i < 40; ++i) time.add(1'000, true);
  EXPECT_FALSE(time.is_light()) << "nothing is known if all were";
  for (int i = 0; i < 16; ++i) time.add(1'000'000);
  for (int i = 0; i < 40; ++i) time.add(1'000, true);
  EXPECT_FALSE(time.is_light()) << "what was known before holds";
  for (int i = 0; i < 16; ++i) time.add(1'000);
  EXPECT_TRUE(time.is_light());
  for (int i = 0; i < 40; ++i) time.add(1'000, true);
  EXPECT_TRUE(time.is_light());
}

TEST(ExecutionTime, WhatWasCutShortAndLongNeverthelessIsALongOne) {
  ExecutionTime time(50'000);
  for (int i = 0; i < 16; ++i) time.add(1'000);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(time.is_light()) << i;
    time.add(1'000'000, true);
  }
  EXPECT_FALSE(time.is_light());
}

TEST(ExecutionTime, AClockThatStepsBackCountsAsNoTime) {
  ExecutionTime time(100);
  for (int i = 0; i < 10; ++i) time.add(-5);
  EXPECT_TRUE(time.is_light());
}

}  // namespace
}  // namespace atl::schedulers
