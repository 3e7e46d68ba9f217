#include "frontends/common/sequence_drain.h"

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
  void pass(int64_t duration_ns) { host_.run_until(host_.clock().now_ns() + duration_ns); }

  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
  SequenceDrain drain_{host_};
  int drained_ = 0;
};

TEST_F(SequenceDrainTest, WithoutSequencesItIsDrainedAtOnce) {
  catalog_.set_exiting(true);
  begin(10 * kNsPerSecond);
  EXPECT_EQ(drained_, 1);
}

TEST_F(SequenceDrainTest, WhereTheServerGoesOnNobodyWaits) {
  catalog_.open_count = 3;
  begin(10 * kNsPerSecond);
  EXPECT_EQ(drained_, 1) << "another frontend takes their requests";
}

TEST_F(SequenceDrainTest, ItWaitsUntilTheLastOneHasEnded) {
  catalog_.set_exiting(true);
  catalog_.open_count = 2;
  begin(10 * kNsPerSecond);
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
  catalog_.set_exiting(true);
  catalog_.open_count = 1;
  begin(30 * kNsPerSecond);
  pass(28 * kNsPerSecond);
  EXPECT_EQ(drained_, 0);
  pass(kNsPerSecond + kNsPerSecond / 10);
  EXPECT_EQ(drained_, 1) << "a second before the end";
}

TEST_F(SequenceDrainTest, OfLittleTimeATenthIsLeft) {
  catalog_.set_exiting(true);
  catalog_.open_count = 1;
  begin(kNsPerSecond);
  pass(850 * kNsPerMs);
  EXPECT_EQ(drained_, 0);
  pass(100 * kNsPerMs);
  EXPECT_EQ(drained_, 1);
}

TEST_F(SequenceDrainTest, WithoutTimeItIsDrainedAtOnce) {
  catalog_.set_exiting(true);
  catalog_.open_count = 1;
  begin(0);
  EXPECT_EQ(drained_, 1);
}

TEST_F(SequenceDrainTest, WhatIsCancelledIsNotCalled) {
  catalog_.set_exiting(true);
  catalog_.open_count = 1;
  begin(kNsPerSecond);
  drain_.cancel();
  catalog_.open_count = 0;
  pass(10 * kNsPerSecond);
  EXPECT_EQ(drained_, 0);
}

}  // namespace
}  // namespace atl::frontends
