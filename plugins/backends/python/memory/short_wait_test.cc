#include "backends/python/memory/short_wait.h"

#include <gtest/gtest.h>

namespace atl::python {
namespace {

TEST(ShortWait, ShortExecutionsAreWaitedFor) {
  ShortWait wait;
  EXPECT_EQ(wait.time_ns(), 2 * ShortWait::kShortNs) << "nothing is known yet";
  for (int i = 0; i < 100; ++i) wait.add_execution(1'000'000);
  EXPECT_EQ(wait.time_ns(), 0);
  for (int i = 0; i < 100; ++i) wait.add_execution(30'000);
  EXPECT_EQ(wait.time_ns(), 2 * ShortWait::kShortNs);
}

TEST(ShortWait, TheLimitIsExactAsLongAsALongExecutionIsNotFarBack) {
  ShortWait wait;
  for (int i = 0; i < ShortWait::kExactAfterLong; ++i) {
    ASSERT_EQ(wait.time_ns(), 2 * ShortWait::kShortNs) << i;
    wait.add_execution(1000);
  }
  EXPECT_EQ(wait.time_ns(), ShortWait::kCoarseNs);
  wait.add_execution(2 * ShortWait::kShortNs);
  EXPECT_EQ(wait.time_ns(), ShortWait::kCoarseNs);
  wait.add_execution(2 * ShortWait::kShortNs + 1);
  for (int i = 0; i < ShortWait::kExactAfterLong; ++i) {
    ASSERT_EQ(wait.time_ns(), 2 * ShortWait::kShortNs) << i;
    wait.add_execution(1000);
  }
  EXPECT_EQ(wait.time_ns(), ShortWait::kCoarseNs);
}

TEST(ShortWait, WhoIsNeverToldStopsWaiting) {
  ShortWait wait;
  wait.add_execution(1000);
  for (int i = 0; i < 7; ++i) wait.add_wait(false);
  wait.add_wait(true);
  for (int i = 0; i < 7; ++i) wait.add_wait(false);
  EXPECT_NE(wait.time_ns(), 0);
  wait.add_wait(false);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(wait.time_ns(), 0);
  EXPECT_NE(wait.time_ns(), 0) << "it is tried again";
}

}  // namespace
}  // namespace atl::python
