#include "pools/leases/planner/device_queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "atoll/testing/random.h"

namespace atl::pools {
namespace {

constexpr int64_t kMs = 1000;
/// Of 30, 100 and 300 ms; a request may wait for four of its kind.
const std::vector<PlannedModel> kModels = {
    {30 * kMs, 150 * kMs}, {100 * kMs, 500 * kMs}, {300 * kMs, 1500 * kMs}};

DeviceQueues queues_with(const ReplicaPlan& plan, DeviceOrder order) {
  DeviceQueues queues(kModels, static_cast<uint32_t>(plan.devices.size()), order);
  queues.set_plan(plan);
  return queues;
}

/// How many of so many requests for one model are taken that come at one time.
int taken(DeviceQueues& queues, int64_t at_us, uint32_t model, int requests) {
  int count = 0;
  for (int i = 0; i < requests; ++i) count += queues.offer({at_us, model}) ? 1 : 0;
  return count;
}

class EitherOrder : public ::testing::TestWithParam<DeviceOrder> {};
INSTANTIATE_TEST_SUITE_P(DeviceQueues, EitherOrder,
                         ::testing::Values(DeviceOrder::kArrival, DeviceOrder::kDeadline),
                         [](const auto& one) {
                           return one.param == DeviceOrder::kArrival ? "Arrival" : "Deadline";
                         });

TEST_P(EitherOrder, TakesWhatEndsAtItsDeadlineAndNoMore) {
  DeviceQueues queues = queues_with({{{1}}}, GetParam());
  EXPECT_EQ(taken(queues, 0, 1, 9), 5);
  EXPECT_EQ(taken(queues, 100 * kMs - 1, 1, 1), 0);
  EXPECT_EQ(taken(queues, 100 * kMs, 1, 9), 1);
  EXPECT_EQ(taken(queues, 5000 * kMs, 1, 9), 5);
}

TEST_P(EitherOrder, AModelWithoutAReplicaIsRefused) {
  DeviceQueues queues = queues_with({{{1}, {1}}}, GetParam());
  EXPECT_EQ(taken(queues, 0, 0, 1), 0);
}

TEST_P(EitherOrder, EveryReplicaTakesItsPart) {
  DeviceQueues queues = queues_with({{{0, 1}, {2}, {1, 2}}}, GetParam());
  EXPECT_EQ(taken(queues, 0, 1, 99), 10);
}

TEST_P(EitherOrder, ALaterAnswerLeavesLessTime) {
  const std::vector<PlannedModel> models = {{100 * kMs, 500 * kMs, 1}};
  DeviceQueues queues(models, 1, GetParam());
  queues.set_plan({{{0}}});
  EXPECT_EQ(taken(queues, 0, 0, 9), 4);
}

TEST_P(EitherOrder, WorkStaysWhenAReplicaGoes) {
  DeviceQueues queues = queues_with({{{1}}}, GetParam());
  EXPECT_EQ(taken(queues, 0, 1, 9), 5);
  queues.set_plan({{{2}}});
  EXPECT_EQ(taken(queues, 0, 1, 1), 0);
  EXPECT_EQ(taken(queues, 0, 2, 9), 3);  // 500 ms of 1500 are taken
  queues.clear();
  EXPECT_EQ(taken(queues, 0, 2, 9), 5);
}

TEST(DeviceQueues, OfDevicesWithoutWorkTheOneThatHasHadNoneLongest) {
  DeviceQueues queues = queues_with({{{1, 2}, {1}}}, DeviceOrder::kArrival);
  EXPECT_EQ(taken(queues, 0, 1, 1), 1);           // device 0, the lowest number
  EXPECT_EQ(taken(queues, 200 * kMs, 1, 1), 1);   // device 1, which has had nothing
  EXPECT_EQ(taken(queues, 400 * kMs, 1, 4), 4);   // two each; device 0 is first
  EXPECT_EQ(taken(queues, 400 * kMs, 2, 99), 4);  // device 0, after 200 ms
}

TEST(DeviceQueues, FirstComeFirstServedRefusesTheShortOneBehindLongOnes) {
  DeviceQueues queues = queues_with({{{0, 2}}}, DeviceOrder::kArrival);
  EXPECT_EQ(taken(queues, 0, 2, 2), 2);
  EXPECT_EQ(taken(queues, 310 * kMs, 0, 1), 0);
}

TEST(DeviceQueues, EarliestDeadlineFirstLetsAShortOneGoAhead) {
  DeviceQueues queues = queues_with({{{0, 2}}}, DeviceOrder::kDeadline);
  EXPECT_EQ(taken(queues, 0, 2, 2), 2);
  EXPECT_EQ(taken(queues, 190 * kMs, 0, 9), 1);  // 110 ms of the first long one are left
  EXPECT_EQ(taken(queues, 300 * kMs, 0, 9), 4);
}

TEST(DeviceQueues, NoneGoesAheadOfOneThatWouldBeLateThen) {
  DeviceQueues queues = queues_with({{{1, 2}}}, DeviceOrder::kDeadline);
  EXPECT_EQ(taken(queues, 0, 2, 5), 5);           // the last one ends at its deadline
  EXPECT_EQ(taken(queues, 1000 * kMs, 1, 9), 0);  // 200 ms of the fourth are left
}

TEST(DeviceQueues, AnotherDeviceIsTriedByDeadline) {
  DeviceQueues queues = queues_with({{{0, 2}, {0, 1}}}, DeviceOrder::kDeadline);
  EXPECT_EQ(taken(queues, 0, 2, 2), 2);          // device 0, until 600 ms
  EXPECT_EQ(taken(queues, 0, 1, 5), 5);          // device 1, until 500 ms, with the earlier deadlines
  EXPECT_EQ(taken(queues, 290 * kMs, 0, 9), 4);  // device 0, whose next one may wait
}

/// One device by another way: what waits is executed step by step, and each end is compared with its deadline.
TEST(DeviceQueues, NothingThatIsTakenIsLate) {
  test::Random random(7);
  for (int round = 0; round < 200; ++round) {
    DeviceQueues queues = queues_with({{{0, 1, 2}}}, DeviceOrder::kDeadline);
    std::vector<std::pair<int64_t, int64_t>> waiting;  // deadline, service
    int64_t now_us = 0, end_us = 0;
    const auto execute_until = [&](int64_t until_us) {
      while (!waiting.empty() && end_us <= until_us) {
        const auto next = std::ranges::min_element(waiting, {}, &std::pair<int64_t, int64_t>::first);
        end_us += next->second;
        ASSERT_LE(end_us, next->first) << "round " << round;
        waiting.erase(next);
      }
    };
    for (int i = 0; i < 200; ++i) {
      now_us += static_cast<int64_t>(random.below(150)) * kMs;
      const auto model = static_cast<uint32_t>(random.below(3));
      ASSERT_NO_FATAL_FAILURE(execute_until(now_us));
      if (!queues.offer({now_us, model})) continue;
      end_us = std::max(end_us, now_us);
      waiting.emplace_back(now_us + kModels[model].deadline_us, kModels[model].service_us);
      ASSERT_NO_FATAL_FAILURE(execute_until(now_us));
    }
    ASSERT_NO_FATAL_FAILURE(execute_until(INT64_MAX));
  }
}

}  // namespace
}  // namespace atl::pools
