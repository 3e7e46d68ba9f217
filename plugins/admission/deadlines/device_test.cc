#include "admission/deadlines/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/deadlines/testing/device_simulation.h"

namespace atl::deadlines {
namespace {

using Model = DeviceSimulation::Model;
using ::testing::ElementsAre;

constexpr int64_t kMs = kNsPerMs;

Model model(int64_t first_ms, int64_t item_ms, int64_t target_ms, uint32_t size_max = 8) {
  return {first_ms * kMs, item_ms * kMs, target_ms * kMs, size_max, 1};
}

TEST(Device, TheEarliestDeadlineIsFirst) {
  DeviceSimulation simulation({1}, {model(5, 5, 100), model(5, 5, 50), model(5, 5, 70)});
  simulation.teach();
  simulation.arrive(0);
  for (size_t which : {0U, 2U, 1U}) EXPECT_TRUE(simulation.arrive(which));
  simulation.run_until_idle();
  EXPECT_THAT(simulation.order, ElementsAre(0U, 1U, 2U, 0U));
  EXPECT_EQ(simulation.outcome.late, 0U);
}

TEST(Device, WhatWaitsTogetherIsExecutedTogether) {
  DeviceSimulation simulation({1}, {model(5, 1, 100, 4)});
  simulation.teach();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(simulation.arrive(0));
  simulation.run_until_idle();
  EXPECT_THAT(simulation.sizes, ElementsAre(1U, 4U, 4U, 1U));
}

TEST(Device, ABatchIsNoLargerThanOthersHaveTimeFor) {
  DeviceSimulation simulation({1}, {model(1, 10, 100), model(5, 5, 104)});
  simulation.teach();
  simulation.arrive(1);  // runs for 10 ms
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(simulation.arrive(0));
  EXPECT_TRUE(simulation.arrive(1)) << "until 104, after a batch of all that would end at 71";
  simulation.run_until_idle();
  EXPECT_THAT(simulation.order, ElementsAre(1U, 0U, 1U));
  EXPECT_EQ(simulation.outcome.late, 0U);
}

TEST(Device, WhoWouldBeLateIsRefused) {
  DeviceSimulation simulation({1}, {model(10, 10, 50, 1)});
  simulation.teach();
  EXPECT_TRUE(simulation.arrive(0)) << "until 20";
  EXPECT_TRUE(simulation.arrive(0)) << "until 40";
  EXPECT_FALSE(simulation.arrive(0)) << "until 60";
  simulation.run_until(simulation.now_ns() + 10 * kMs);
  EXPECT_TRUE(simulation.arrive(0)) << "10 + 50";
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.late, 0U);
}

TEST(Device, WhoWouldMakeOthersLateIsRefused) {
  DeviceSimulation simulation({1}, {model(0, 40, 100, 1), model(0, 10, 15, 1)});
  simulation.teach();
  EXPECT_TRUE(simulation.arrive(1)) << "until 10";
  EXPECT_TRUE(simulation.arrive(0)) << "until 50";
  EXPECT_TRUE(simulation.arrive(0)) << "until 90";
  EXPECT_FALSE(simulation.arrive(1)) << "20: too late";
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.late, 0U);
}

TEST(Device, TheClientsOwnDeadlineCountsToo) {
  DeviceSimulation simulation({1}, {model(0, 10, 0, 1)});
  simulation.teach();
  EXPECT_TRUE(simulation.arrive(0));
  EXPECT_FALSE(simulation.arrive(0, simulation.now_ns() + 15 * kMs));
  EXPECT_TRUE(simulation.arrive(0, simulation.now_ns() + 20 * kMs));
  EXPECT_TRUE(simulation.arrive(0));
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.executed, 3U);
}

TEST(Device, WhatIsNotKnownYetIsNotRefused) {
  DeviceSimulation simulation({1}, {model(0, 10, 15, 1)});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(simulation.arrive(0));
  simulation.run_until_idle();
  EXPECT_TRUE(simulation.arrive(0));
  EXPECT_FALSE(simulation.arrive(0)) << "now it is";
  simulation.run_until_idle();
}

TEST(Device, ATargetThatCanNotBeMetSaysNothing) {
  DeviceSimulation simulation({1}, {model(0, 10, 5, 1)});
  simulation.teach();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(simulation.arrive(0));
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.executed, 20U);
}

TEST(Device, AShortOneRunsBesideALongOneThatHasTheTime) {
  DeviceSimulation simulation({2}, {model(0, 50, 150, 1), model(0, 2, 6, 1)});
  simulation.teach();
  EXPECT_TRUE(simulation.arrive(0));
  EXPECT_TRUE(simulation.arrive(1));
  simulation.run_until_idle();
  EXPECT_EQ(simulation.most_at_a_time(), 2U);
  EXPECT_EQ(simulation.outcome.late, 0U);

  DeviceSimulation alone({1}, {model(0, 50, 150, 1), model(0, 2, 6, 1)});
  alone.teach();
  EXPECT_TRUE(alone.arrive(0));
  EXPECT_FALSE(alone.arrive(1)) << "one at a time";
  alone.run_until_idle();
}

TEST(Device, WhoCanWaitDoesNotRunBesideOthers) {
  DeviceSimulation simulation({2}, {model(0, 10, 100, 1), model(0, 10, 100, 1)});
  simulation.teach();
  EXPECT_TRUE(simulation.arrive(0));
  EXPECT_TRUE(simulation.arrive(1));
  simulation.run_until_idle();
  EXPECT_EQ(simulation.most_at_a_time(), 1U);
}

TEST(Device, WhatDoesNotSlowOthersDownRunsBesideThem) {
  DeviceSimulation simulation({2, 2}, {model(0, 10, 25, 1), model(0, 10, 15, 1), model(0, 10, 0, 1)});
  simulation.teach();
  EXPECT_TRUE(simulation.arrive(0));
  EXPECT_TRUE(simulation.arrive(1)) << "at once";
  EXPECT_FALSE(simulation.arrive(1)) << "its only instance is busy until 10";
  EXPECT_TRUE(simulation.arrive(0)) << "from 10 to 20";
  EXPECT_TRUE(simulation.arrive(2));
  simulation.run_until_idle();
  EXPECT_EQ(simulation.most_at_a_time(), 2U);
  EXPECT_THAT(simulation.order, ElementsAre(0U, 1U, 0U, 2U));
  EXPECT_EQ(simulation.outcome.late, 0U);
}

TEST(Device, WhoHasNoDeadlineGetsWhatIsLeft) {
  DeviceSimulation simulation({1}, {model(0, 10, 0, 1), model(0, 10, 100, 1)});
  simulation.teach();
  simulation.arrive(1);
  for (size_t which : {0U, 1U}) EXPECT_TRUE(simulation.arrive(which));
  simulation.run_until_idle();
  EXPECT_THAT(simulation.order, ElementsAre(1U, 1U, 0U));
}

TEST(Device, AnInstanceThatGoesTakesWhatWaitedWithIt) {
  Device device({1});
  ExecutionDemand demand;
  demand.max_batch_size = 1;
  Line line(demand, kNsPerSecond), other(demand, kNsPerSecond);
  Runner first(line), second(other);
  device.add(first);
  device.add(second);
  AdmittedList admitted;
  device.arrived(line, line.waiting_of({1, 0, 1}), 1, admitted);
  device.ask(first, false, 1, admitted);
  EXPECT_EQ(admitted.pop_front(), &first);
  device.ask(second, false, 2, admitted);
  EXPECT_TRUE(admitted.empty());
  device.remove(first, 3, admitted);
  EXPECT_EQ(admitted.pop_front(), &second);
  EXPECT_EQ(line.weight, 0U);
  EXPECT_FALSE(line.place.is_active);
  device.remove(second, 4, admitted);
  EXPECT_EQ(device.running(), 0U);
}

}  // namespace
}  // namespace atl::deadlines
