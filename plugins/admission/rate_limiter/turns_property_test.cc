/// Instances that ask, execute, come and go at random, in virtual time; what must hold is looked at after
/// every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "admission/rate_limiter/turns.h"
#include "atoll/testing/random.h"

namespace atl::admission {
namespace {

using State = Contender::State;
using test::Random;

struct Simulated : Contender {
  uint64_t executions = 0, generation = 0;
  int64_t waits_since = 0, duration = 1;
  uint32_t busy_percent = 100;  ///< how often it asks again at once
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed, const std::vector<std::string>& limits = {})
      : random(seed), pools(ResourceLimits::parse(limits).value()) {}

  Simulated* add(const std::vector<ExecutionResource>& resources, uint32_t priority, int32_t device = 0) {
    ExecutionDemand demand;
    demand.resources = resources;
    demand.priority = priority;
    demand.device_id = device;
    auto claims = pools.add(demand);
    if (!claims.ok()) return nullptr;
    Simulated* made = all.emplace_back(std::make_unique<Simulated>()).get();
    made->claims = std::move(claims).value();
    turns.add(*made, admitted_);
    take_admitted(nullptr);
    return made;
  }
  void remove(size_t index) {
    std::unique_ptr<Simulated> gone = std::move(all[index]);
    all[index] = std::move(all.back());
    all.pop_back();
    turns.remove(*gone);
    pools.remove(gone->claims);
    turns.settle(admitted_);
    ++gone->generation;
    take_admitted(nullptr);
    graveyard_.push_back(std::move(gone));  // ends that are still planned look at it
  }
  void ask(Simulated& one, bool insists = false) {
    one.waits_since = now;
    turns.ask(one, insists, admitted_);
    insisted += insists;
    take_admitted(&one);
  }
  void withdraw(Simulated& one) {
    turns.withdraw(one, admitted_);
    take_admitted(nullptr);
  }
  /// The next execution ends. False if none runs.
  bool end_next() {
    while (!ends_.empty() && ends_.top().generation != ends_.top().one->generation) ends_.pop();
    if (ends_.empty()) return false;
    Simulated& one = *ends_.top().one;
    now = ends_.top().at;
    ends_.pop();
    ++one.generation;
    ++one.executions;
    if (random.chance(one.busy_percent)) {
      one.waits_since = now;
      turns.ask_again(one, false, admitted_);
      take_admitted(&one);
    } else {
      turns.end(one, true, admitted_);
      take_admitted(nullptr);
    }
    return true;
  }
  void run(uint64_t executions) {
    for (uint64_t i = 0; i < executions; ++i) ASSERT_TRUE(end_next());
  }

  /// What must hold between any two calls.
  void check() {
    std::map<const ResourcePool*, uint64_t> used, waiting, kept;
    for (const auto& one : all) {
      for (const Claim& claim : one->claims) {
        if (one->state == State::kAdmitted) used[claim.pool] += claim.count;
        if (one->state == State::kWaiting) ++waiting[claim.pool];
        if (claim.kept) kept[claim.pool] += claim.count;
        ASSERT_TRUE(!claim.kept || (one->state == State::kWaiting && one->over_due));
      }
    }
    pools.for_each([&](const ResourcePool& pool) {
      ASSERT_EQ(pool.in_use, used[&pool]) << pool.name;
      ASSERT_EQ(pool.waiting, waiting[&pool]) << pool.name;
      ASSERT_EQ(pool.kept, kept[&pool]) << pool.name;
      if (insisted == 0 && !limits_shrink) {
        ASSERT_LE(pool.in_use, pool.limit) << pool.name;
      }
    });
    for (const auto& one : all) {
      if (one->state != State::kWaiting) continue;
      longest_wait = std::max(longest_wait, now - one->waits_since);
      if (one->over_due) continue;
      bool lacks = false;
      for (const Claim& claim : one->claims) lacks |= !claim.pool->has(claim.count);
      ASSERT_TRUE(lacks) << "it waits, and nothing is missing";
    }
    ASSERT_TRUE(turns.waiting() == 0 || !nobody_runs()) << "all wait and nothing runs";
  }
  bool nobody_runs() const {
    return std::none_of(all.begin(), all.end(),
                        [](const auto& one) { return one->state == State::kAdmitted; });
  }

  Random random;
  ResourcePools pools;
  Turns turns;
  std::vector<std::unique_ptr<Simulated>> all;
  int64_t now = 0, longest_wait = 0;
  uint64_t insisted = 0;
  bool limits_shrink = false;

 private:
  struct End {
    int64_t at;
    uint64_t order;
    Simulated* one;
    uint64_t generation;
    bool operator<(const End& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  void take_admitted(Simulated* asker) {
    for (Contender* one = admitted_.pop_front(); one != nullptr; one = admitted_.pop_front()) {
      auto& simulated = *static_cast<Simulated*>(one);
      ASSERT_EQ(simulated.state, State::kAdmitted);
      ASSERT_TRUE(asker == &simulated || simulated.waits_since <= now);
      ends_.push({now + 1 + static_cast<int64_t>(random.below(simulated.duration)), order_++, &simulated,
                  simulated.generation});
    }
  }

  AdmittedList admitted_;
  std::priority_queue<End> ends_;
  std::vector<std::unique_ptr<Simulated>> graveyard_;
  uint64_t order_ = 0;
};

constexpr int64_t kLongest = 20;

std::vector<ExecutionResource> random_needs(Random& random, uint32_t most) {
  std::vector<ExecutionResource> needs;
  for (int i = 0; i < 4; ++i) {
    if (random.chance(40))
      needs.push_back({cat("R", i), 1 + static_cast<uint32_t>(random.below(most)), i == 3});
  }
  if (needs.empty()) needs.push_back({"R0", 1, false});
  return needs;
}

void step(Simulation& simulation, bool with_changes, bool with_insistence) {
  Random& random = simulation.random;
  if (random.chance(50) || simulation.all.empty()) {
    simulation.end_next();
  } else {
    Simulated& one = *simulation.all[random.below(simulation.all.size())];
    if (one.state == State::kIdle) {
      simulation.ask(one, with_insistence && random.chance(2));
    } else if (one.state == State::kWaiting && with_changes && random.chance(5)) {
      simulation.withdraw(one);
    }
  }
  if (!with_changes || !random.chance(2)) return;
  if (simulation.all.size() < 12 || (random.chance(50) && simulation.all.size() < 24)) {
    Simulated* made = simulation.add(random_needs(random, 6), static_cast<uint32_t>(random.below(5)),
                                     static_cast<int32_t>(random.below(2)));
    if (made != nullptr) made->duration = random.between(1, kLongest);
    if (made != nullptr) made->busy_percent = static_cast<uint32_t>(random.below(101));
  } else {
    simulation.remove(random.below(simulation.all.size()));
  }
}

TEST(TurnsProperty, MillionsOfStepsWithInstancesThatComeAndGo) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed, seed % 2 == 0
                                    ? std::vector<std::string>{"R0:6", "R1:8", "R2:7:0", "R2:6:1", "R3:9"}
                                    : std::vector<std::string>{});
    simulation.limits_shrink = seed % 2 != 0;
    for (int i = 0; i < 200'000 && !testing::Test::HasFailure(); ++i) {
      step(simulation, true, seed % 3 == 0);
      if (i < 10'000 || i % 8 == 0) simulation.check();
    }
    ASSERT_FALSE(HasFailure());
    while (!simulation.all.empty()) simulation.remove(0);
    size_t pools_left = 0;
    simulation.pools.for_each([&](const ResourcePool&) { ++pools_left; });
    ASSERT_EQ(pools_left, 0u);
    ASSERT_EQ(simulation.turns.waiting(), 0u);
  }
}

/// Everybody always has work, on pools that overlap, needing from one copy to all of them.
TEST(TurnsProperty, NobodyStarves) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed, {"R0:6", "R1:6", "R2:6", "R3:6"});
    constexpr int kInstances = 12;
    for (int i = 0; i < kInstances; ++i) {
      Simulated* one = simulation.add(random_needs(simulation.random, 6),
                                      static_cast<uint32_t>(simulation.random.between(1, 4)));
      one->duration = kLongest;
    }
    for (auto& one : simulation.all) simulation.ask(*one);
    for (int i = 0; i < 50'000 && !HasFailure(); ++i) {
      ASSERT_TRUE(simulation.end_next());
      if (i < 5'000 || i % 8 == 0) simulation.check();
    }
    ASSERT_FALSE(HasFailure());
    // Without an end to being passed by, one that needs all copies would wait for as long as this goes on.
    EXPECT_LE(simulation.longest_wait, 100 * kLongest);
  }
}

/// Executions, each times its priority, are the same for all that always have work.
void expect_fair_shares(Simulation& simulation, double tolerance) {
  double least = 1e300, most = 0;
  for (const auto& one : simulation.all) {
    double share = static_cast<double>(one->executions) * one->claims[0].priority;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  EXPECT_LE(most - least, tolerance * most) << "from " << least << " to " << most;
}

TEST(TurnsProperty, PriorityTwoGetsHalfTheChancesOfOne) {
  Simulation simulation(1, {"R0:1"});
  Simulated* one = simulation.add({{"R0", 1, false}}, 1);
  Simulated* two = simulation.add({{"R0", 1, false}}, 2);
  one->duration = two->duration = kLongest;
  simulation.ask(*one);
  simulation.ask(*two);
  simulation.run(1'000'000);
  double ratio = static_cast<double>(one->executions) / static_cast<double>(two->executions);
  EXPECT_NEAR(ratio, 2, 0.02);
}

TEST(TurnsProperty, SharesOfThoseThatExcludeEachOtherFollowPriorities) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed, {"R0:10"});
    Random& random = simulation.random;
    for (int64_t i = random.between(2, 10); i > 0; --i) {
      uint32_t count = 6 + static_cast<uint32_t>(random.below(5));
      Simulated* one = simulation.add({{"R0", count, false}}, static_cast<uint32_t>(random.between(1, 8)));
      one->duration = random.between(1, kLongest);
    }
    for (auto& one : simulation.all) simulation.ask(*one);
    simulation.run(50'000);
    expect_fair_shares(simulation, 0.02);
  }
}

TEST(TurnsProperty, SharesOfManyOnFewCopiesFollowPriorities) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed, {"R0:3"});
    for (uint32_t i = 0; i < 12; ++i) simulation.add({{"R0", 1, false}}, 1 + i % 3)->duration = kLongest;
    for (auto& one : simulation.all) simulation.ask(*one);
    simulation.run(50'000);
    expect_fair_shares(simulation, 0.02);
  }
}

/// The one that needs both copies is passed by, and catches up.
TEST(TurnsProperty, OneThatNeedsAllGetsItsShareBesideThoseThatNeedOne) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed, {"R0:2"});
    simulation.add({{"R0", 2, false}}, 1);
    simulation.add({{"R0", 1, false}}, 1);
    simulation.add({{"R0", 1, false}}, 1);
    for (auto& one : simulation.all) {
      one->duration = kLongest;
      simulation.ask(*one);
    }
    simulation.run(50'000);
    expect_fair_shares(simulation, 0.02);
  }
}

/// One instance was idle for long. Another one of the same priority must not stand back for all that time.
TEST(TurnsProperty, TurnsCanNotBeSavedUp) {
  Simulation simulation(1, {"R0:1"});
  Simulated* busy = simulation.add({{"R0", 1, false}}, 1);
  Simulated* late = simulation.add({{"R0", 1, false}}, 1);
  simulation.ask(*busy);
  simulation.run(100'000);
  simulation.ask(*late);
  uint64_t before = busy->executions;
  simulation.run(1'000);
  EXPECT_GE(busy->executions - before, 500 - Turns::kCredit);
  EXPECT_LE(busy->executions - before, 500u);
}

/// A pool's turns grow round; it must not be noticed.
TEST(TurnsProperty, TurnsMayGrowRound) {
  Simulation simulation(1, {"R0:1"});
  Simulated* one = simulation.add({{"R0", 1, false}}, 1);
  Simulated* two = simulation.add({{"R0", 1, false}}, 2);
  uint64_t nearly_round = UINT64_MAX - 1000;
  one->claims[0].pool->turn = nearly_round;
  one->claims[0].next_turn = two->claims[0].next_turn = nearly_round;
  simulation.ask(*one);
  simulation.ask(*two);
  simulation.run(30'000);
  EXPECT_LT(one->claims[0].pool->turn, nearly_round) << "it has";
  EXPECT_NEAR(static_cast<double>(one->executions), 20'000, 20);
}

}  // namespace
}  // namespace atl::admission
