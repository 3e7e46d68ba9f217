/// When unused memory is given back.
#include "memory/host/memory_trim.h"

#include <gtest/gtest.h>

namespace atl::memory {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class TrimRuleTest : public ::testing::Test {
 protected:
  /// The next look, five seconds later. \param percent  of a CPU that was used meanwhile
  bool look(uint64_t mib, int64_t percent = 0) {
    now_ns_ += 5 * kNsPerSecond;
    cpu_ns_ += 5 * kNsPerSecond / 100 * percent;
    return rule_.is_due({now_ns_, mib * kMiB, cpu_ns_});
  }
  void done(uint64_t before, uint64_t after) { rule_.done(before * kMiB, after * kMiB, now_ns_); }

  TrimRule rule_;
  int64_t now_ns_ = kNsPerSecond, cpu_ns_ = 0;
};

TEST_F(TrimRuleTest, WaitsForTheEndOfTheGrowth) {
  EXPECT_FALSE(look(50));
  EXPECT_FALSE(look(200));
  EXPECT_FALSE(look(600)) << "it grows";
  EXPECT_TRUE(look(600));
}

TEST_F(TrimRuleTest, LeavesSmallDifferencesAlone) {
  EXPECT_FALSE(look(50));
  EXPECT_FALSE(look(70));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(look(70));
}

TEST_F(TrimRuleTest, WhatStaysIsTriedAgainMoreAndMoreSeldom) {
  look(50);
  look(600);
  ASSERT_TRUE(look(600));
  done(600, 590);
  int looks = 1;
  while (!look(590)) ++looks;
  EXPECT_LE(looks, 5) << "it may have been in use only while the traffic lasted";
  int times = 0;
  for (int i = 0; i < 1000; ++i) {  // more than an hour
    if (!look(590)) continue;
    ++times;
    done(590, 590);
  }
  EXPECT_GE(times, 5);
  EXPECT_LE(times, 13);
  look(640);
  EXPECT_TRUE(look(640)) << "and more than that is looked at again";
}

TEST_F(TrimRuleTest, ABusyProcessThatTakesItAgainIsLeftAloneForLongerAndLonger) {
  look(50);
  int times = 0;
  for (int i = 0; i < 720; ++i) {  // an hour
    if (!look(300, 90)) continue;
    ++times;
    done(300, 60);
    look(300, 90);
  }
  EXPECT_GE(times, 3);
  EXPECT_LE(times, 12);
}

TEST_F(TrimRuleTest, AQuietProcessDoesNotWait) {
  look(50);
  for (int i = 0; i < 720; ++i) {
    if (look(300, 90)) done(300, 60);
    look(300, 90);
  }
  look(300, 1);
  EXPECT_TRUE(look(300, 1));
}

}  // namespace
}  // namespace atl::memory
