#include "pools/leases/planner/replica_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "atoll/testing/random.h"

namespace atl::pools {
namespace {

constexpr int64_t kTenth = 100'000;  // of a second
constexpr int64_t kS = 10 * kTenth;

PlannedModel model(uint32_t replicas_min = 0, uint32_t replicas_max = UINT32_MAX, uint64_t quota = 1) {
  return {kTenth, 2 * kTenth, 0, quota, replicas_min, replicas_max};
}

PlannerSettings settings(uint32_t devices, uint64_t capacity) {
  PlannerSettings settings;
  settings.devices = devices;
  settings.capacity = capacity;
  return settings;
}

size_t replicas(const ReplicaPlan& plan, uint32_t model) {
  return static_cast<size_t>(std::ranges::count_if(
      plan.devices, [&](const auto& device) { return std::ranges::count(device, model) == 1; }));
}

/// So many requests at a time for one model, ten times a second.
void send(ReplicaPlanner& planner, uint32_t model, int requests, int64_t begin_us, int64_t end_us) {
  for (int64_t at_us = begin_us; at_us < end_us; at_us += kTenth) {
    for (int i = 0; i < requests; ++i) planner.observe({at_us, model});
  }
}

TEST(SpreadReplicas, InTurnsUntilNothingHasRoom) {
  const std::vector<PlannedModel> models(3, model());
  EXPECT_EQ(spread_replicas(models, 2, 2).devices, (std::vector<std::vector<uint32_t>>{{0, 2}, {0, 1}}));
}

TEST(SpreadReplicas, EachModelOnceOnADevice) {
  const std::vector<PlannedModel> models(2, model());
  EXPECT_EQ(spread_replicas(models, 2, 9).devices, (std::vector<std::vector<uint32_t>>{{0, 1}, {0, 1}}));
}

TEST(SpreadReplicas, FewestAndMostAreKept) {
  const std::vector<PlannedModel> models = {model(0, 1), model(3), model(0, 0)};
  const ReplicaPlan plan = spread_replicas(models, 3, 2);
  EXPECT_EQ(replicas(plan, 0), 1u);
  EXPECT_EQ(replicas(plan, 1), 3u);
  EXPECT_EQ(replicas(plan, 2), 0u);
}

TEST(SpreadReplicas, QuotaIsKept) {
  const std::vector<PlannedModel> models = {model(0, 9, 3), model(0, 9, 2), model(0, 9, 6)};
  EXPECT_EQ(spread_replicas(models, 2, 5).devices, (std::vector<std::vector<uint32_t>>{{0, 1}, {0, 1}}));
}

TEST(ReplicaPlanner, NothingIsPlannedWithoutTraffic) {
  const std::vector<PlannedModel> models(3, model());
  ReplicaPlanner planner(models, settings(2, 1));
  const ReplicaPlan first = planner.plan();
  EXPECT_EQ(planner.replan(0), first);
  EXPECT_EQ(planner.replan(5 * kS), first);
}

TEST(ReplicaPlanner, TheBusyModelGetsReplicas) {
  const std::vector<PlannedModel> models(4, model());
  ReplicaPlanner planner(models, settings(4, 1));
  EXPECT_EQ(replicas(planner.plan(), 2), 1u);
  send(planner, 2, 4, 0, 10 * kS);
  EXPECT_EQ(replicas(planner.replan(10 * kS), 2), 4u);
}

TEST(ReplicaPlanner, FewestAndMostHoldForThePlan) {
  const std::vector<PlannedModel> models = {model(1), model(), model(0, 2), model(1)};
  ReplicaPlanner planner(models, settings(4, 1));
  send(planner, 2, 9, 0, 10 * kS);
  const ReplicaPlan& plan = planner.replan(10 * kS);
  EXPECT_EQ(replicas(plan, 0), 1u);
  EXPECT_EQ(replicas(plan, 2), 2u);
  EXPECT_EQ(replicas(plan, 3), 1u);
}

TEST(ReplicaPlanner, TheShortMemoryFollowsTheTraffic) {
  const std::vector<PlannedModel> models(2, model());
  PlannerSettings short_one = settings(2, 1), both = settings(2, 1), long_one = settings(2, 1);
  short_one.memories = {{5 * kS, 0}};
  long_one.memories = {{0, 0}};
  const auto replicas_after_a_shift = [&](const PlannerSettings& with) {
    ReplicaPlanner planner(models, with);
    for (int64_t at_us = 0; at_us < 360 * kS; at_us += 5 * kS) {
      send(planner, at_us < 240 * kS ? 0 : 1, 4, at_us, at_us + 5 * kS);
      planner.replan(at_us + 5 * kS);
    }
    return replicas(planner.plan(), 1);
  };
  EXPECT_EQ(replicas_after_a_shift(short_one), 2u);
  EXPECT_LT(replicas_after_a_shift(long_one), 2u);
  EXPECT_EQ(replicas_after_a_shift(both), 2u);
}

TEST(ReplicaPlanner, OldArrivalsAreForgotten) {
  const std::vector<PlannedModel> models(2, model());
  PlannerSettings few = settings(2, 1);
  few.memories = {{0, 0}};
  few.arrivals_max = 400;
  ReplicaPlanner planner(models, few);
  send(planner, 0, 4, 0, 100 * kS);
  send(planner, 1, 4, 100 * kS, 120 * kS);
  EXPECT_EQ(replicas(planner.replan(120 * kS), 1), 2u);
}

/// Whatever arrives: plans fit their devices, keep the limits, and are the same for the same arrivals.
TEST(ReplicaPlanner, PlansAreValidAndRepeatable) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    test::Random random(seed);
    std::vector<PlannedModel> models;
    for (int i = 0; i < 6; ++i) {
      models.push_back(model(static_cast<uint32_t>(random.below(2)),
                             1 + static_cast<uint32_t>(random.below(3)), 1 + random.below(3)));
    }
    PlannerSettings with = settings(4, 6);
    with.seed = seed;
    ReplicaPlanner planner(models, with), other(models, with);
    const ReplicaPlan first = planner.plan();
    for (int64_t at_us = 0; at_us < 30 * kS; at_us += static_cast<int64_t>(random.below(50'000))) {
      const PoolArrival arrival{at_us, static_cast<uint32_t>(random.below(models.size()))};
      planner.observe(arrival);
      other.observe(arrival);
      if (random.chance(90)) continue;
      const ReplicaPlan& plan = planner.replan(at_us);
      ASSERT_EQ(plan, other.replan(at_us));
      for (const auto& device : plan.devices) {
        uint64_t used = 0;
        for (const uint32_t held : device) used += models[held].quota;
        ASSERT_LE(used, 6u) << "seed " << seed;
        ASSERT_TRUE(std::ranges::is_sorted(device, std::ranges::less_equal()));
      }
      for (uint32_t one = 0; one < models.size(); ++one) {
        ASSERT_LE(replicas(plan, one), models[one].replicas_max);
        ASSERT_GE(replicas(plan, one), std::min<size_t>(models[one].replicas_min, replicas(first, one)));
      }
    }
  }
}

}  // namespace
}  // namespace atl::pools
