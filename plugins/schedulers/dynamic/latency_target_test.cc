#include "schedulers/dynamic/latency_target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "atoll/core/clock.h"
#include "atoll/testing/random.h"

namespace atl::schedulers {
namespace {

constexpr int64_t kTarget = 20 * kNsPerMs;
constexpr int64_t kNow = kNsPerSecond;

class LatencyTargetTest : public ::testing::Test {
 protected:
  static std::shared_ptr<LatencyTargetReport> new_report(int64_t target_ns) {
    auto report = std::make_shared<LatencyTargetReport>();
    report->target_ns = target_ns;
    return report;
  }
  /// 2 ms and 0.1 ms an item, without variation.
  void learn() {
    for (int i = 0; i < 100; ++i) {
      for (uint32_t size : {1u, 16u, 64u}) target_.executed(size, cost_ns(size));
    }
  }
  static int64_t cost_ns(uint32_t size) { return 2 * kNsPerMs + size * kNsPerMs / 10; }
  bool admit(uint64_t queued_weight, uint32_t idle_instances, int64_t deadline_ns = 0) {
    Request request;
    request.times.queue_start_ns = kNow;
    request.times.deadline_ns = deadline_ns;
    return target_.admit(request, {kNow, queued_weight, idle_instances});
  }
  bool in_time(uint32_t batch_size, int64_t waited_ns, int64_t deadline_ns = 0) {
    Request request;
    request.times.queue_start_ns = kNow - waited_ns;
    request.times.deadline_ns = deadline_ns;
    return target_.in_time(request, batch_size, kNow);
  }
  std::shared_ptr<LatencyTargetReport> report_ = new_report(kTarget);
  LatencyTarget target_{report_, 64, 1};
};

TEST_F(LatencyTargetTest, RefusesNothingBeforeItKnows) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(admit(1'000'000, 0));
    EXPECT_TRUE(admit(1'000'000, 0, kNow + 1));
    EXPECT_TRUE(in_time(64, 1'000 * kTarget));
    if (i < 3) target_.executed(1, 5 * kNsPerMs);
  }
  target_.executed(1, 5 * kNsPerMs);
  EXPECT_FALSE(admit(1'000'000, 0));
}

TEST_F(LatencyTargetTest, AnIdleInstanceTakesAnyone) {
  learn();
  EXPECT_TRUE(admit(0, 1));
  EXPECT_TRUE(admit(0, 1, kNow + 1)) << "whether it can be in time is seen when its batch is formed";
}

TEST_F(LatencyTargetTest, RefusesWhoWouldWaitTooLong) {
  learn();
  ASSERT_EQ(target_.window().size_max, 64u);
  // A batch of 64 takes 8.4 ms; of the one that runs, half is left on average.
  EXPECT_TRUE(admit(0, 0));
  EXPECT_TRUE(admit(63, 0));
  EXPECT_FALSE(admit(64, 0)) << "4.2 + 8.4 + 8.4 ms";
  EXPECT_EQ(report_->shed, 1u);
}

TEST_F(LatencyTargetTest, InstancesEndOneAfterTheOther) {
  auto report = new_report(kTarget);
  LatencyTarget target(report, 64, 4);
  for (int i = 0; i < 100; ++i) {
    for (uint32_t size : {1u, 64u}) target.executed(size, cost_ns(size));
  }
  struct Row {
    uint64_t queued;
    uint32_t idle;
    bool expected;
  };
  // Of four instances that are busy for 8.4 ms each, one ends every 1.7 ms.
  for (Row row : {Row{0, 0, true}, Row{4 * 64, 0, true}, Row{5 * 64 - 1, 0, true}, Row{5 * 64, 0, false},
                  Row{5 * 64, 1, true}, Row{6 * 64 - 1, 1, true}, Row{6 * 64, 1, false}, Row{64, 3, true}}) {
    Request request;
    request.times.queue_start_ns = kNow;
    EXPECT_EQ(target.admit(request, {kNow, row.queued, row.idle}), row.expected)
        << row.queued << " queued, " << row.idle << " idle";
  }
}

TEST_F(LatencyTargetTest, TheRequestsOwnDeadlineCounts) {
  learn();
  EXPECT_TRUE(admit(63, 0));
  EXPECT_FALSE(admit(63, 0, kNow + 10 * kNsPerMs));
  EXPECT_TRUE(admit(63, 0, kNow + 13 * kNsPerMs));
  EXPECT_TRUE(admit(63, 0, INT64_MAX));
  EXPECT_FALSE(admit(64, 0, INT64_MAX)) << "a deadline does not lengthen the target";
  EXPECT_FALSE(admit(63, 0, kNow)) << "it has passed";
  EXPECT_TRUE(in_time(1, 0, kNow + 3 * kNsPerMs));
  EXPECT_FALSE(in_time(1, 0, kNow + 2 * kNsPerMs));
  EXPECT_FALSE(in_time(1, 0, 1));
}

TEST_F(LatencyTargetTest, WhoHasWaitedTooLongIsNotExecuted) {
  learn();
  EXPECT_TRUE(in_time(64, 11 * kNsPerMs));
  EXPECT_FALSE(in_time(64, 12 * kNsPerMs));
  EXPECT_TRUE(in_time(1, 17 * kNsPerMs));
  EXPECT_FALSE(in_time(1, 18 * kNsPerMs));
  EXPECT_EQ(report_->shed, 2u);
}

TEST_F(LatencyTargetTest, AHeavyRequestIsABatchOfItsOwn) {
  learn();
  Request heavy;
  heavy.batch_size = 200;  // 22 ms
  heavy.times.queue_start_ns = kNow;
  EXPECT_FALSE(target_.admit(heavy, {kNow, 1, 0}));
}

TEST_F(LatencyTargetTest, ATargetThatCanNotBeReachedSaysNothing) {
  for (int i = 0; i < 100; ++i) target_.executed(1 + i % 2, 2 * kTarget);
  EXPECT_TRUE(admit(1'000, 0));
  EXPECT_TRUE(in_time(1, 10 * kTarget));
  EXPECT_EQ(report_->shed, 0u);
  for (int i = 0; i < 100; ++i) target_.executed(target_.window().size_max, 2 * kTarget);
  EXPECT_EQ(target_.window().size_max, 64u) << "nor is it a reason for small batches";
  EXPECT_EQ(target_.window().delay_ns, 0);
}

TEST_F(LatencyTargetTest, ASizeIsFoundByTrying) {
  // Alone they take well below half of the target, and so do 64 together. Nothing but the trial tells.
  for (int i = 0; i < 4; ++i) target_.executed(1, 9 * kNsPerMs);
  uint32_t before = 0;
  for (int i = 0; i < 20; ++i) {
    uint32_t size = target_.window().size_max;
    EXPECT_GE(size, before);
    EXPECT_LE(size, 2 * std::max(1u, before)) << "and not much larger than the largest that was tried";
    before = size;
    target_.executed(size, 9 * kNsPerMs);
  }
  EXPECT_EQ(before, 64u);
}

TEST_F(LatencyTargetTest, TooLargeABatchIsHalved) {
  for (int i = 0; i < 4; ++i) target_.executed(64, 50 * kNsPerMs);
  EXPECT_EQ(target_.window().size_max, 32u);
  EXPECT_TRUE(admit(1'000'000, 0)) << "whether the target can be reached is not known";
}

TEST_F(LatencyTargetTest, TheLargestBatchTakesHalfOfTheTarget) {
  for (int i = 0; i < 100; ++i) {
    for (uint32_t size : {1u, 40u}) target_.executed(size, size * kNsPerMs * 9 / 10);
  }
  EXPECT_EQ(target_.window().size_max, 11u);
}

TEST_F(LatencyTargetTest, WhereASingleOneTakesNearlyThatTheLargestTakesLittleMore) {
  for (int i = 0; i < 100; ++i) {
    for (uint32_t size : {1u, 41u}) target_.executed(size, 12 * kNsPerMs + (size - 1) * kNsPerMs * 3 / 20);
  }
  EXPECT_EQ(target_.window().size_max, 14u) << "a quarter of the 8 ms that a single one leaves";
}

TEST_F(LatencyTargetTest, WaitsOnlyWhenBusy) {
  learn();
  auto arrivals = [&](int64_t start_ns, int count, int64_t gap_ns) {
    for (int i = 0; i < count; ++i) {
      Request request;
      request.times.queue_start_ns = start_ns + i * gap_ns;
      (void)target_.admit(request, {request.times.queue_start_ns, 0, 1});
    }
  };
  arrivals(kNow, 100, 10 * kNsPerMs);
  EXPECT_EQ(target_.window().delay_ns, 0) << "2.1 of 10 ms";
  arrivals(2 * kNow, 1'000, kNsPerMs);
  EXPECT_GT(target_.window().delay_ns, kNsPerMs) << "2.1 ms each millisecond";
  EXPECT_LE(target_.window().delay_ns, kTarget - 2 * cost_ns(64));
  EXPECT_EQ(report_->delay_ns, target_.window().delay_ns);
  arrivals(10 * kNow, 1, 1);
  EXPECT_EQ(target_.window().delay_ns, 0)
      << "the first one after a pause does not wait for a crowd that left";
}

TEST_F(LatencyTargetTest, TheReportSaysWhatIsDone) {
  auto report = new_report(kTarget);
  LatencyTarget target(report, 0, 0);  // of a model that does not batch
  EXPECT_EQ(report->size_max, 1u);
  EXPECT_EQ(target.window().size_max, 1u);
  EXPECT_EQ(report_->size_max, 64u);
  for (int i = 0; i < 50; ++i) {
    for (uint32_t size : {1u, 40u}) target_.executed(size, size * kNsPerMs);
  }
  EXPECT_EQ(report_->size_max, target_.window().size_max);
  EXPECT_EQ(target_.refusal(),
            "the model is overloaded: the request could not be answered in time (latency target 20000 us)");
}

TEST(LatencyTarget, ALoneRequestIsAlwaysServed) {
  // Or nothing would be learnt any more, and all refused for ever.
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    test::Random random(seed);
    auto report = std::make_shared<LatencyTargetReport>();
    report->target_ns = kTarget;
    LatencyTarget target(report, 1 + static_cast<uint32_t>(random.below(64)), 1);
    const int64_t longest_ns = random.between(1, 3 * kTarget);
    for (int step = 0; step < 200; ++step) {
      Request request;
      request.times.queue_start_ns = kNow;
      ASSERT_TRUE(target.admit(request, {kNow, 0, 1})) << "seed " << seed << " step " << step;
      ASSERT_TRUE(target.in_time(request, 1, kNow)) << "seed " << seed << " step " << step;
      target.executed(1 + static_cast<uint32_t>(random.below(target.window().size_max)),
                      random.between(0, longest_ns));
    }
  }
}

TEST(LatencyTarget, ExtremesStayWithinBounds) {
  const int64_t durations[] = {INT64_MIN, -1, 0, 1, kNsPerMs, kTarget, INT64_MAX};
  const int64_t times[] = {0, 1, kNow, kNow - 5, INT64_MAX / 4};
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    test::Random random(seed);
    auto report = std::make_shared<LatencyTargetReport>();
    report->target_ns = random.chance(50) ? kNsPerUs : 3'600 * kNsPerSecond;
    const uint32_t most = random.chance(30) ? UINT32_MAX : static_cast<uint32_t>(random.between(1, 100));
    LatencyTarget target(report, most, random.chance(30) ? UINT32_MAX : 2);
    for (int step = 0; step < 200; ++step) {
      Request request;
      request.batch_size = random.chance(20) ? UINT32_MAX : static_cast<uint32_t>(random.below(10));
      int64_t now_ns = times[random.below(5)];
      request.times.queue_start_ns = now_ns;
      request.times.deadline_ns = random.chance(50) ? 0 : INT64_MAX;
      BatchLoad load{now_ns, random.chance(30) ? UINT64_MAX / 2 : random.below(100),
                     static_cast<uint32_t>(random.below(3))};
      bool admitted = target.admit(request, load);
      ASSERT_TRUE(admitted || load.queued_weight != 0 || load.idle_instances == 0);
      (void)target.in_time(request, request.batch_weight(), now_ns);
      target.executed(request.batch_size, durations[random.below(7)]);
      BatchTuner::Window window = target.window();
      ASSERT_GE(window.size_max, 1u) << seed;
      ASSERT_LE(window.size_max, most) << seed;
      ASSERT_GE(window.delay_ns, 0) << seed;
      ASSERT_LE(window.delay_ns, report->target_ns) << seed;
      ASSERT_EQ(report->size_max, window.size_max);
    }
  }
}

}  // namespace
}  // namespace atl::schedulers
