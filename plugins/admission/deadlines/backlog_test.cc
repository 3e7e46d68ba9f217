/// What waits behind the plan: more than it looks at.
#include "admission/deadlines/backlog.h"

#include <gtest/gtest.h>

#include "admission/deadlines/testing/device_simulation.h"
#include "atoll/core/text.h"

namespace atl::deadlines {
namespace {

using Model = DeviceSimulation::Model;

/// Each waits with a request of 10 ms, of which none can be joined.
std::vector<Model> many(size_t count, int64_t target_ms) {
  return std::vector<Model>(count, Model{0, 10 * kNsPerMs, target_ms * kNsPerMs, 1, 1});
}

TEST(Backlog, WhoComesLastIsTakenIfItsTurnComesInTime) {
  DeviceSimulation simulation({1}, many(1'200, 10'005));
  simulation.teach();
  for (size_t i = 0; i < 1'200; ++i)
    EXPECT_EQ(simulation.arrive(i), i < 1'000) << i << ": until " << 10 * (i + 1);
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.executed, 1'000U);
  EXPECT_EQ(simulation.outcome.late, 0U);
}

TEST(Backlog, WhoComesFirstIsRefusedIfItMakesTheLastOneLate) {
  std::vector<Model> models = many(900, 10'005);
  models.resize(1'100, Model{0, 10 * kNsPerMs, 3'000 * kNsPerMs, 1, 1});
  DeviceSimulation simulation({1}, models);
  simulation.teach();
  for (size_t i = 0; i < 900; ++i) EXPECT_TRUE(simulation.arrive(i));
  for (size_t i = 900; i < 1'100; ++i) EXPECT_EQ(simulation.arrive(i), i < 1'000) << i;
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.late, 0U);
  EXPECT_EQ(simulation.outcome.dropped, 0U);
}

TEST(Backlog, WhoJoinsABatchAddsLess) {
  std::vector<Model> models(500, Model{8 * kNsPerMs, 2 * kNsPerMs, 6'010 * kNsPerMs, 4, 1});
  DeviceSimulation simulation({1}, models);
  simulation.teach();
  for (size_t i = 0; i < 500; ++i) EXPECT_TRUE(simulation.arrive(i)) << "until 5000";
  // 2 ms each, until 6008.
  int taken = 0;
  for (size_t i = 1; i < 500; ++i) {
    for (int more = 0; more < 3; ++more) taken += simulation.arrive(i);
  }
  EXPECT_GE(taken, 500);
  EXPECT_LE(taken, 510);
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.late + simulation.outcome.dropped, 0U);
}

TEST(Backlog, ALineIsNoFasterThanItsInstances) {
  std::vector<Model> models(1, Model{0, 10 * kNsPerMs, 10'005 * kNsPerMs, 1, 1});
  DeviceSimulation simulation({4, 4}, models);
  simulation.teach();
  int taken = 0;
  for (int i = 0; i < 2'000; ++i) taken += simulation.arrive(0);
  EXPECT_EQ(taken, 1'000) << "one at a time, whatever the device could";
  simulation.run_until_idle();
  EXPECT_EQ(simulation.outcome.late + simulation.outcome.dropped, 0U);
}

TEST(Backlog, WhatIsLateAnywayIsInNobodysWay) {
  ExecutionDemand demand;
  demand.max_batch_size = 1;
  Line line(demand, kNsPerSecond), other(demand, kNsPerSecond);
  for (Line* one : {&line, &other}) {
    one->instances = 1;
    for (int i = 0; i < 8; ++i) one->profile.add(1, 10 * kNsPerMs);
  }
  Backlog backlog(1);
  auto push = [&](Line& to, int64_t deadline_ms) {
    const QueuedRequest request{deadline_ms * kNsPerMs, true, 1};
    backlog.push(to, request, 0);
    to.push(request);
  };
  for (int i = 0; i < 100; ++i) push(line, 105);
  const Backlog::Rest all{0, {0, 0}, 0, 0};
  EXPECT_FALSE(backlog.is_harmed_by(other, {115 * kNsPerMs, true, 1}, all)) << "behind ten";
  EXPECT_TRUE(backlog.is_harmed_by(other, {105 * kNsPerMs, true, 1}, all));
  EXPECT_TRUE(backlog.is_harmed_by(other, {20 * kNsPerMs, true, 1}, all)) << "the tenth would be late";
  EXPECT_TRUE(backlog.is_harmed_by(line, {115 * kNsPerMs, true, 1}, all)) << "its own line comes first";
  EXPECT_EQ(backlog.work_from({0, 0}), 1'000 * kNsPerMs);
  line.pop(90);
  backlog.pop(line, 90);
  EXPECT_EQ(backlog.size(), 10U);
  EXPECT_EQ(line.backlog.cost_ns, 100 * kNsPerMs);
  push(other, 200);
  EXPECT_EQ(backlog.work_from({150 * kNsPerMs, 0}), 10 * kNsPerMs);
}

TEST(Backlog, HardlyAnybodyThatIsTakenIsLate) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    test::Random random(seed);
    std::vector<Model> models(60);
    for (Model& model : models) {
      model.first_ns = random.between(1, 10) * kNsPerMs;
      model.item_ns = model.first_ns * random.between(0, 50) / 100;
      model.target_ns = (model.first_ns + model.item_ns) * random.between(50, 500) / 10 + 500 * kNsPerMs;
      model.size_max = static_cast<uint32_t>(random.between(1, 16));
    }
    DeviceSimulation simulation({1}, models);
    simulation.teach();
    for (int i = 0; i < 3'000; ++i) {
      simulation.run_until(simulation.now_ns() + (random.chance(60) ? 0 : random.between(0, 5 * kNsPerMs)));
      simulation.arrive(random.below(models.size()));
    }
    simulation.run_until_idle();
    EXPECT_TRUE(simulation.is_idle());
    EXPECT_GT(simulation.outcome.refused, 0U) << "too little comes";
    EXPECT_GT(simulation.outcome.executed, simulation.outcome.offered / 5);
    EXPECT_LE(simulation.outcome.late + simulation.outcome.dropped, simulation.outcome.executed / 100);
  }
}

}  // namespace
}  // namespace atl::deadlines
