#include "frontends/common/call/sequence_drain.h"

#include <gtest/gtest.h>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"

namespace atl::frontends {
namespace {

class SequenceDrainTest : public ::testing::Test {
 protected:
  void begin(int64_t timeout_ns) {
    drain_.begin(catalog_, host_.clock().now_ns() + timeout_ns, [this] { ++drained_; });
    host_.run_ready();
  }
  /// The server ends with so many open sequences, and has so much time.
  void exit_with(uint64_t open, int64_t timeout_ns) {
    catalog_.set_exiting(true);
    catalog_.open_count = open;
    begin(timeout_ns);
  }
  void pass(int64_t duration_ns) { host_.run_until(host_.clock().now_ns() + duration_ns); }

  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
  SequenceDrain drain_{host_};
  int drained_ = 0;
};

TEST_F(SequenceDrainTest, WithoutSequencesItIsDrainedAtOnce) {
  exit_with(0, 10 * kNsPerSecond);
  EXPECT_EQ(drained_, 1);
}

TEST_F(SequenceDrainTest, WhereTheServerGoesOnNobodyWaits) {
  catalog_.open_count = 3;
  begin(10 * kNsPerSecond);
  EXPECT_EQ(drained_, 1) << "another frontend takes their requests";
}

TEST_F(SequenceDrainTest, ItWaitsUntilTheLastOneHasEnded) {
  exit_with(2, 10 * kNsPerSecond);
  pass(3 * kNsPerSecond);
  catalog_.open_count = 1;
  pass(3 * kNsPerSecond);
  EXPECT_EQ(drained_, 0);
  catalog_.open_count = 0;
  pass(kNsPerSecond / 10);
  EXPECT_EQ(drained_, 1);
  pass(10 * kNsPerSecond);
  EXPECT_EQ(drained_, 1) << "once";
}

TEST_F(SequenceDrainTest, TimeIsLeftForWhatIsInFlight) {
  exit_with(1, 30 * kNsPerSecond);
  pass(24 * kNsPerSecond);
  EXPECT_EQ(drained_, 0);
  pass(kNsPerSecond + kNsPerSecond / 10);
  EXPECT_EQ(drained_, 1) << "five seconds before the end";
}

TEST_F(SequenceDrainTest, OfLittleTimeAFifthIsLeft) {
  exit_with(1, kNsPerSecond);
  pass(750 * kNsPerMs);
  EXPECT_EQ(drained_, 0);
  pass(100 * kNsPerMs);
  EXPECT_EQ(drained_, 1);
}

TEST_F(SequenceDrainTest, TheNextFrontendDoesNotWaitAgain) {
  catalog_.exit_began = host_.clock().now_ns();
  const int64_t deadline_ns = host_.clock().now_ns() + 10 * kNsPerSecond;
  exit_with(1, 10 * kNsPerSecond);
  pass(8 * kNsPerSecond + kNsPerSecond / 10);
  ASSERT_EQ(drained_, 1);
  int next_drained = 0;
  SequenceDrain next(host_);
  next.begin(catalog_, deadline_ns, [&] { ++next_drained; });
  EXPECT_EQ(next_drained, 1) << "two seconds are left for everything else";
}

TEST_F(SequenceDrainTest, WithoutTimeItIsDrainedAtOnce) {
  exit_with(1, 0);
  EXPECT_EQ(drained_, 1);
}

TEST_F(SequenceDrainTest, WhatIsCancelledIsNotCalled) {
  exit_with(1, kNsPerSecond);
  drain_.cancel();
  catalog_.open_count = 0;
  pass(10 * kNsPerSecond);
  EXPECT_EQ(drained_, 0);
}

}  // namespace
}  // namespace atl::frontends
