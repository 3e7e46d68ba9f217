#include "admission/deadlines/execution_profile.h"

#include <gtest/gtest.h>

#include "atoll/core/clock.h"

namespace atl::deadlines {
namespace {

ExecutionProfile profile_of(std::initializer_list<std::pair<uint32_t, int64_t>> executions, int times = 4) {
  ExecutionProfile profile;
  for (int i = 0; i < times; ++i) {
    for (const auto& [size, duration_ns] : executions) profile.add(size, duration_ns);
  }
  return profile;
}

TEST(ExecutionProfile, NothingIsKnownAtFirst) {
  ExecutionProfile profile;
  EXPECT_FALSE(profile.known());
  EXPECT_EQ(profile.estimate_ns(1), 0);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(profile.known());
    profile.add(1, kNsPerMs);
  }
  EXPECT_TRUE(profile.known());
  EXPECT_EQ(profile.estimate_ns(1), kNsPerMs);
}

TEST(ExecutionProfile, BetweenSizesThereIsALineAndBeyondThemIsMore) {
  const ExecutionProfile profile = profile_of({{2, 10 * kNsPerMs}, {6, 14 * kNsPerMs}});
  EXPECT_EQ(profile.estimate_ns(1), 10 * kNsPerMs) << "no less than what was seen";
  EXPECT_EQ(profile.estimate_ns(2), 10 * kNsPerMs);
  EXPECT_EQ(profile.estimate_ns(4), 12 * kNsPerMs);
  EXPECT_EQ(profile.estimate_ns(6), 14 * kNsPerMs);
  EXPECT_EQ(profile.estimate_ns(12), 23 * kNsPerMs) << "1.5 ms each";
  EXPECT_EQ(profile_of({{2, 10 * kNsPerMs}}).estimate_ns(6), 30 * kNsPerMs) << "nothing else is known";
}

TEST(ExecutionProfile, HowMuchTheyVaryIsAddedTwice) {
  ExecutionProfile profile;
  for (int i = 0; i < 200; ++i) profile.add(1, (i % 2 == 0 ? 9 : 11) * kNsPerMs);
  EXPECT_NEAR(static_cast<double>(profile.estimate_ns(1)), 12.0 * kNsPerMs, 0.4 * kNsPerMs);
}

TEST(ExecutionProfile, OneInterruptionCountsLessAndASlowerModelIsFollowed) {
  ExecutionProfile profile = profile_of({{1, 10 * kNsPerMs}});
  profile.add(1, 1'000 * kNsPerMs);
  EXPECT_LT(profile.estimate_ns(1), 25 * kNsPerMs);
  for (int i = 0; i < 60; ++i) profile.add(1, 30 * kNsPerMs);
  EXPECT_NEAR(static_cast<double>(profile.estimate_ns(1)), 30.0 * kNsPerMs, 3.0 * kNsPerMs);
}

TEST(ExecutionProfile, LargeSizesShareWhatIsKnown) {
  ExecutionProfile profile;
  for (uint32_t size = 1; size <= 100'000; ++size) profile.add(size, size * 1'000);
  EXPECT_NEAR(static_cast<double>(profile.estimate_ns(50'000)), 50e6, 2e6);
  EXPECT_NEAR(static_cast<double>(profile.estimate_ns(65)), 65e3, 5e3);
  profile.add(UINT32_MAX, 1);
  EXPECT_GE(profile.estimate_ns(UINT32_MAX), 0);
}

}  // namespace
}  // namespace atl::deadlines
