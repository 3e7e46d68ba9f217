/// The policy over seeded random arrivals. To repeat one seed: ATOLL_SIMULATION_SEED=<seed> deadlines_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "admission/deadlines/testing/device_simulation.h"
#include "atoll/core/text.h"

namespace atl::deadlines {
namespace {

using Model = DeviceSimulation::Model;

constexpr uint64_t kSeeds = 120;
constexpr int kRequestsEach = 3'000;

std::vector<Model> random_models(test::Random& random, bool with_others) {
  std::vector<Model> models(1 + random.below(8));
  for (Model& model : models) {
    model.first_ns = random.between(1, 20) * kNsPerMs;
    model.item_ns = model.first_ns * random.between(0, 50) / 100;
    model.target_ns = (model.first_ns + model.item_ns) * random.between(15, 60) / 10;
    model.size_max = static_cast<uint32_t>(random.between(1, 16));
    if (with_others && random.chance(40)) model.target_ns = 0;
  }
  return models;
}

/// Executions share the device.
PlanRules sharing(uint64_t seed) { return {1 + static_cast<uint32_t>(seed % 3), 1}; }
/// Some do not slow each other down.
PlanRules parallel(uint64_t seed) {
  const auto count = 2 + static_cast<uint32_t>(seed % 3);
  return {count + static_cast<uint32_t>(seed / 3 % 3), count};
}

/// Some come alone, some in bursts.
void arrive_at_random(DeviceSimulation& simulation, test::Random& random, size_t models, int64_t gap_ns) {
  for (int i = 0; i < kRequestsEach; ++i) {
    const int64_t gap = random.chance(60) ? 0 : random.between(0, 5 * gap_ns);
    simulation.run_until(simulation.now_ns() + gap);
    simulation.arrive(random.below(models));
  }
  simulation.run_until_idle();
}

template <class Body>
void for_each_seed(Body&& body) {
  if (const char* only = std::getenv("ATOLL_SIMULATION_SEED"); only != nullptr) {
    return body(std::strtoull(only, nullptr, 10));
  }
  for (uint64_t seed = 1; seed <= kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(cat("ATOLL_SIMULATION_SEED=", seed));
    body(seed);
  }
}

TEST(DeviceProperties, NobodyThatIsTakenIsLateWhereExecutionsTakeWhatIsExpected) {
  for_each_seed([](uint64_t seed) {
    test::Random random(seed);
    const std::vector<Model> models = random_models(random, false);
    const PlanRules rules = sharing(seed);
    DeviceSimulation simulation(rules, models);
    simulation.teach();
    arrive_at_random(simulation, random, models.size(), random.between(1, 10) * kNsPerMs);
    EXPECT_TRUE(simulation.is_idle()) << "somebody waits for ever";
    EXPECT_LE(simulation.outcome.worst_late_ns, 2 * kNsPerUs) << "of rounding";
    EXPECT_EQ(simulation.outcome.dropped, 0U);
    EXPECT_GT(simulation.outcome.executed, simulation.outcome.offered / 50);
    EXPECT_LE(simulation.most_at_a_time(), rules.executions);
  });
}

/// Two executions may end at the same time, and the first of them does not know of the second: so batches may be
/// smaller than was planned.
TEST(DeviceProperties, HardlyAnybodyThatIsTakenIsLateWhereExecutionsDoNotShare) {
  for_each_seed([](uint64_t seed) {
    test::Random random(seed);
    const std::vector<Model> models = random_models(random, false);
    const PlanRules rules = parallel(seed);
    DeviceSimulation simulation(rules, models);
    simulation.teach();
    int64_t longest_ns = 0;
    for (const Model& model : models) longest_ns = std::max(longest_ns, model.target_ns);
    arrive_at_random(simulation, random, models.size(), random.between(1, 10) * kNsPerMs);
    EXPECT_TRUE(simulation.is_idle());
    EXPECT_LE(simulation.outcome.late + simulation.outcome.dropped, simulation.outcome.offered / 300);
    EXPECT_LE(simulation.outcome.worst_late_ns, longest_ns / 20);
    EXPECT_GT(simulation.outcome.executed, simulation.outcome.offered / 50);
    EXPECT_LE(simulation.most_at_a_time(), rules.executions);
  });
}

/// A request is late by what the executions before it took longer than was expected: a part of its own time.
TEST(DeviceProperties, WhoIsTakenIsLittleLateWhereExecutionsVary) {
  for_each_seed([](uint64_t seed) {
    test::Random random(seed);
    const std::vector<Model> models = random_models(random, false);
    DeviceSimulation simulation(seed % 2 == 0 ? sharing(seed) : parallel(seed), models);
    simulation.teach();
    simulation.noise_percent = 5;
    int64_t longest_ns = 0;
    for (const Model& model : models) longest_ns = std::max(longest_ns, model.target_ns);
    arrive_at_random(simulation, random, models.size(), random.between(1, 10) * kNsPerMs);
    EXPECT_TRUE(simulation.is_idle());
    EXPECT_LE(simulation.outcome.worst_late_ns, longest_ns / 20);
    EXPECT_LE(simulation.outcome.late + simulation.outcome.dropped, simulation.outcome.offered / 50);
    EXPECT_GT(simulation.outcome.executed, simulation.outcome.offered / 50);
  });
}

TEST(DeviceProperties, NobodyWithoutDeadlineStarves) {
  for_each_seed([](uint64_t seed) {
    test::Random random(seed);
    std::vector<Model> models = random_models(random, true);
    Model other;
    other.first_ns = random.between(1, 20) * kNsPerMs;
    other.size_max = static_cast<uint32_t>(random.between(1, 16));
    models.push_back(other);
    constexpr int64_t kPatienceNs = 200 * kNsPerMs;
    DeviceSimulation simulation(seed % 2 == 0 ? sharing(seed) : parallel(seed), models, kPatienceNs);
    simulation.teach();
    // Far too much comes for those that have deadlines, and little for the others.
    int64_t load_ns = 0;
    uint64_t others = 0;
    for (int i = 0; i < kRequestsEach; ++i) {
      const size_t model = random.below(models.size());
      if (models[model].target_ns == 0) {
        if (load_ns > simulation.now_ns() / 5) continue;
        load_ns += models[model].first_ns + models[model].item_ns;
        ++others;
      }
      simulation.run_until(simulation.now_ns() + random.between(0, 2 * kNsPerMs));
      EXPECT_TRUE(simulation.arrive(model) || models[model].target_ns != 0);
    }
    simulation.run_until_idle();
    EXPECT_TRUE(simulation.is_idle());
    EXPECT_GT(others, 0U);
    EXPECT_LE(simulation.outcome.longest_wait_ns, 5 * kPatienceNs);
  });
}

}  // namespace
}  // namespace atl::deadlines
