/// What a latency target does to a model whose cost is known, under load.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "atoll/core/text.h"
#include "schedulers/dynamic/testing/target_simulation.h"

namespace atl::schedulers {
namespace {

using Cost = std::function<double(double)>;

TargetSimulation::Setup setup(Cost cost_ms, uint32_t instances, uint64_t seed) {
  TargetSimulation::Setup setup;
  setup.cost_ms = std::move(cost_ms);
  setup.instances = instances;
  setup.seed = seed;
  return setup;
}

/// Requests a millisecond that an instance serves with the best batch of at most half the target.
double capacity(const Cost& cost_ms) {
  double best = 0;
  for (int size = 1; size <= 64; ++size) {
    if (size == 1 || cost_ms(size) <= 10) best = std::max(best, size / cost_ms(size));
  }
  return best;
}

struct NamedCost {
  const char* name;
  Cost cost_ms;
};

const NamedCost kCosts[] = {
    {"2 + 0.1 n", [](double n) { return 2 + 0.1 * n; }},
    {"n", [](double n) { return n; }},
    {"5", [](double) { return 5.0; }},
    {"6 + 0.05 n", [](double n) { return 6 + 0.05 * n; }},
    {"8 + 0.02 n", [](double n) { return 8 + 0.02 * n; }},
};

struct Load {
  double share;  ///< of the capacity
  double shed_max, late_max;
};

void under_load(const NamedCost& cost, uint32_t instances, uint64_t seed) {
  // Few single requests, as before the users of a new model come: it must not be the end of learning.
  for (Load load :
       {Load{0.05, 0.005, 0.002}, Load{0.5, 0.005, 0.002}, Load{0.9, 0.04, 0.005}, Load{2, 0.6, 0.02}}) {
    SCOPED_TRACE(
        cat(cost.name, ", ", instances, " instances, load ", std::to_string(load.share), ", seed ", seed));
    TargetSimulation model(setup(cost.cost_ms, instances, seed));
    model.run(500, 0.02);
    double per_ms = load.share * capacity(cost.cost_ms) * instances;
    TargetSimulation::Outcome first = model.run(500, per_ms);
    EXPECT_LE(first.late_share(), 0.05) << "while it learns";
    TargetSimulation::Outcome outcome = model.run(2'000, per_ms);
    EXPECT_LE(outcome.shed_share(), load.shed_max);
    EXPECT_LE(outcome.late_share(), load.late_max);
    double served_share = outcome.per_ms() / (capacity(cost.cost_ms) * instances);
    EXPECT_GE(served_share, 0.8 * std::min(1.0, load.share)) << "of the capacity, in time";
    if (load.share < 0.5) continue;  // batches of large sizes do not come then, and are not learnt
    EXPECT_LE(cost.cost_ms(outcome.size_high), 10 * 1.2);
    EXPECT_GE(cost.cost_ms(std::min(64u, 2 * outcome.size_low)), std::min(10.0, cost.cost_ms(64)) * 0.9);
  }
}

TEST(LatencyTargetSimulation, ShedsUnderOverloadAndNotOtherwise) {
  for (const NamedCost& cost : kCosts) {
    for (uint32_t instances : {1u, 4u}) under_load(cost, instances, 1);
    under_load(cost, 2, 2);
  }
}

TEST(LatencyTargetSimulation, WhereASingleOneTakesMoreThanHalfOfTheTarget) {
  Cost cost_ms = [](double n) { return 12 + 0.05 * n; };
  TargetSimulation model(setup(cost_ms, 4, 1));
  model.run(500, 0.02);
  double singles_per_ms = 4 / 12.05;
  model.run(1'000, 2 * singles_per_ms);
  TargetSimulation::Outcome outcome = model.run(3'000, 2 * singles_per_ms);
  EXPECT_LE(outcome.shed_share(), 0.02) << "batches cost little more, so there is room for all";
  EXPECT_LE(outcome.late_share(), 0.01);
}

TEST(LatencyTargetSimulation, ATargetThatCanNotBeReachedCostsNothing) {
  Cost cost_ms = [](double n) { return 30 + 0.1 * n; };
  TargetSimulation model(setup(cost_ms, 1, 1));
  model.run(500, 0.02);
  for (double times_singles : {0.5, 2.0, 20.0}) {
    model.run(2'000, times_singles / 30);
    TargetSimulation::Outcome outcome = model.run(4'000, times_singles / 30);
    EXPECT_EQ(outcome.shed, 0u);
    EXPECT_LT(outcome.mean_latency_ms(), 70) << "batches are as large as need be";
  }
}

TEST(LatencyTargetSimulation, HeavyRequestsAreBatchedToo) {
  for (uint32_t weight : {3u, 8u}) {
    TargetSimulation::Setup heavy = setup([](double n) { return 5 + 0.05 * n; }, 1, 1);
    heavy.weight = weight;
    TargetSimulation model(heavy);
    model.run(500, 0.02);
    double per_ms = 64 / 8.2 / weight;
    model.run(1'000, 0.9 * per_ms);
    TargetSimulation::Outcome outcome = model.run(2'000, 0.9 * per_ms);
    EXPECT_LE(outcome.shed_share(), 0.12) << weight;
    EXPECT_LE(outcome.late_share(), 0.005) << weight;
  }
}

TEST(LatencyTargetSimulation, InterruptionsDoNotShrinkTheBatches) {
  int batches = 0;
  TargetSimulation model(
      setup([&](double n) { return (2 + 0.1 * n) * (++batches % 100 == 0 ? 10 : 1); }, 1, 1));
  double per_ms = 0.5 * capacity(kCosts[0].cost_ms);
  model.run(1'000, per_ms);
  TargetSimulation::Outcome outcome = model.run(10'000, per_ms);
  EXPECT_GE(outcome.size_low, 32u);
  // Who comes in the first 30 of the 50 ms of an interruption cannot be in time: about every tenth.
  EXPECT_LE(outcome.shed_share(), 0.12);
  EXPECT_LE(outcome.late_share(), 0.02);
}

TEST(LatencyTargetSimulation, FollowsAModelThatChanges) {
  for (double factor : {0.3, 1.5, 2.0, 3.0}) {
    SCOPED_TRACE(factor);
    Cost before = kCosts[0].cost_ms;
    Cost after = [=](double n) { return factor * before(n); };
    double per_ms = 0.8 * capacity(before);
    TargetSimulation model(setup(before, 1, 1));
    model.run(2'000, per_ms);
    model.set_cost(after);
    model.run(2'000, per_ms);
    TargetSimulation::Outcome outcome = model.run(5'000, per_ms);
    EXPECT_LE(outcome.late_share(), 0.02);
    EXPECT_GE(outcome.per_ms(), 0.85 * std::min(per_ms, capacity(after)));
  }
}

}  // namespace
}  // namespace atl::schedulers
