// Anything in any order, and after each step what must always hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "atoll/testing/random.h"
#include "pools/leases/testing/pool_bench.h"

namespace atl::pools {
namespace {

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed), bench_(seed) {
    bench_.settings.start_timeout_ns = 10 * kNsPerSecond;
    bench_.settings.idle_ns = 20 * kNsPerSecond;
    bench_.settings.history_ns = 30 * kNsPerSecond;
    bench_.restart();
    for (int i = 0; i < 8; ++i) {
      if (i % 3 == 1) bench_.servers.backends[cat("m", i)] = {"python"};
      if (i % 3 == 2) bench_.servers.backends[cat("m", i)] = {"onnxruntime", "python"};
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      SCOPED_TRACE(cat("step ", i));
      step();
      check();
    }
    if (!testing::Test::HasFatalFailure()) end();
  }

  std::map<std::string, int> outcomes;

 private:
  void step() {
    switch (random_.below(12)) {
      case 0:
        return make_pool();
      case 1:
      case 2:
      case 3:
      case 4:
        return acquire();
      case 5:
        return release();
      case 6:
        return renew();
      case 7:
        return disturb();
      case 8:
        return change_pool();
      default:
        bench_.run_for(random_.between(1, 3 * kNsPerSecond));
    }
  }
  std::string any_pool() { return cat("p", random_.below(3)); }
  std::string any_lease() {
    const auto leases = bench_.manager->book().leases.of_pool({});
    return leases.empty() ? "none" : leases[random_.below(leases.size())]->id();
  }

  void make_pool() {
    (void)bench_.create_pool(any_pool(), 1 + random_.below(8), 1 + static_cast<uint32_t>(random_.below(4)),
                             static_cast<uint32_t>(random_.below(2)), random_.chance(70));
  }
  void change_pool() {
    const std::string name = any_pool();
    bench_.run([&] {
      if (random_.chance(30)) {
        (void)bench_.manager->delete_pool(name, random_.chance(50)).ok();
      } else {
        const auto least = static_cast<uint32_t>(random_.below(3));
        (void)bench_.manager->update_pool(name, least, least + 1 + static_cast<uint32_t>(random_.below(3)))
            .ok();
      }
    });
  }
  void acquire() {
    std::set<std::string> models;
    for (uint64_t i = 0; i <= random_.below(3); ++i) models.insert(cat("m", random_.below(8)));
    LeaseDefinition wanted = PoolBench::lease(1 + random_.below(6), {models.begin(), models.end()},
                                              random_.chance(50) ? 0 : random_.between(1, 30) * kNsPerSecond);
    wanted.pool = any_pool();
    if (random_.chance(20)) wanted.auto_renew = AutoRenew{};
    const std::string outcome = bench_.acquire(wanted);
    ++outcomes[outcome.substr(0, outcome.find_first_of(":-"))];
    if (outcome.starts_with("RESOURCE_EXHAUSTED")) expect_no_room(wanted);
  }
  /// A search of all instances, by what the rules say.
  void expect_no_room(const LeaseDefinition& wanted) {
    const Pool& pool = *bench_.manager->book().find_pool(wanted.pool);
    ASSERT_GE(pool.places().instance_count(), pool.record().definition.max_instances);
    for (const Place& place : pool.places().places()) {
      const InstanceState state = pool.instance(place.instance).state();
      if (state == InstanceState::kDraining || state == InstanceState::kFailed) continue;
      if (place.free < wanted.quota || hosts_one_of(pool, place.instance, wanted)) continue;
      ASSERT_TRUE(pool.record().definition.enforce_backends) << "i" << place.instance << " has room";
      ASSERT_NE(place.backends_state, InstanceBackends::kBlank) << "i" << place.instance << " has room";
    }
  }
  static bool hosts_one_of(const Pool& pool, uint32_t instance, const LeaseDefinition& wanted) {
    for (const Lease* lease : pool.leases()) {
      if (lease->instance() == nullptr || lease->record.instance != instance) continue;
      for (const LeaseModel& model : lease->record.definition.models) {
        for (const LeaseModel& other : wanted.models) {
          if (model.name == other.name) return true;
        }
      }
    }
    return false;
  }
  void release() { (void)bench_.release(any_lease()); }
  void renew() {
    const std::string id = any_lease();
    if (random_.chance(30)) bench_.last_uses[id] = bench_.steady.now_ns();
    bench_.run([&] { (void)bench_.manager->renew(id, random_.between(1, 20) * kNsPerSecond).ok(); });
  }
  void disturb() {
    FakeServers& servers = bench_.servers;
    switch (random_.below(8)) {
      case 0:
      case 1:
        return servers.kill(any_pool(), static_cast<uint32_t>(random_.below(4)));
      case 2:
        if (FakeServers::Server* server = servers.find(any_pool(), static_cast<uint32_t>(random_.below(4))))
          server->hangs = true;
        return;
      case 3:
        return servers.refusals.push_back(
            Status(random_.chance(50) ? Code::kResourceExhausted : Code::kUnavailable, "no node"));
      case 4:
        if (random_.chance(50)) {
          servers.broken[cat("m", random_.below(8))] = "broken";
        } else {
          servers.broken.clear();
        }
        return;
      case 5:
        servers.stuck[cat("m", random_.below(8))] = 2;
        return;
      case 6:
        return servers.engine_is_away ? servers.engine_returns()
                                      : void(servers.engine_is_away = random_.chance(50));
      default:
        return bench_.restart();
    }
  }

  void check() {
    const PoolManager& manager = *bench_.manager;
    for (const auto& [name, pool] : manager.book().pools) {
      const PoolDefinition& definition = pool->record().definition;
      std::map<uint32_t, uint64_t> used;
      for (const Lease* lease : manager.book().leases.of_pool(name)) {
        if (lease->instance() != nullptr && !is_final(lease->state()))
          used[lease->record.instance] += lease->record.definition.quota;
        if (lease->state() == LeaseState::kActive) check_active(*pool, *lease);
        if (is_final(lease->state())) {
          ASSERT_EQ(lease->instance(), nullptr) << lease->id();
        }
      }
      for (const Place& place : pool->places().places()) {
        ASSERT_LE(place.used, definition.quota);
        ASSERT_EQ(place.used, used[place.instance]) << "i" << place.instance;
        used.erase(place.instance);
      }
      for (const auto& [instance, quota] : used) ASSERT_EQ(quota, 0u) << "a lease is on i" << instance;
    }
  }
  void check_active(const Pool& pool, const Lease& lease) {
    ASSERT_NE(lease.instance(), nullptr);
    ASSERT_EQ(lease.instance()->state(), InstanceState::kReady);
    ASSERT_EQ(lease.instance()->number(), lease.record.instance);
    const auto server = bench_.servers.servers().find(lease.instance()->id());
    if (server == bench_.servers.servers().end()) return;  // the manager has not heard of its end
    for (const LeaseModel& model : lease.record.definition.models) {
      const auto& loaded = server->second.models;
      ASSERT_NE(std::find(loaded.begin(), loaded.end(), model.name), loaded.end()) << model.name;
    }
    if (!pool.record().definition.enforce_backends) return;
    const Place& place = pool.places().place(lease.record.instance);
    ASSERT_EQ(place.backends_state, InstanceBackends::kKnown);
  }

  /// When nothing disturbs any more, everything comes to rest, and nothing is left behind.
  void end() {
    FakeServers& servers = bench_.servers;
    servers.engine_returns();
    servers.refusals.clear();
    servers.broken.clear();
    servers.stuck.clear();
    bench_.run_for(120 * kNsPerSecond);
    check();
    for (const Lease* lease : bench_.manager->book().leases.of_pool({})) {
      ASSERT_TRUE(lease->state() == LeaseState::kActive || is_final(lease->state()))
          << bench_.describe(lease->id());
    }
    for (const Lease* lease : bench_.manager->book().leases.of_pool({})) (void)bench_.release(lease->id());
    bench_.run_for(200 * kNsPerSecond);
    ASSERT_EQ(bench_.manager->book().leases.of_pool({}).size(), 0u);
    size_t instances = 0;
    for (const auto& [name, pool] : bench_.manager->book().pools) {
      ASSERT_EQ(pool->places().instance_count(), pool->record().definition.min_instances)
          << name << ": " << bench_.instances(name);
      instances += pool->places().instance_count();
    }
    ASSERT_EQ(servers.servers().size(), instances) << "a server without an instance";
  }

  test::Random random_;
  PoolBench bench_;
};

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(PoolSimulation, WhatMustAlwaysHoldDoes) {
  const uint64_t first = number_from("ATOLL_SIMULATION_FIRST_SEED", 1);
  const uint64_t seeds = number_from("ATOLL_SIMULATION_SEEDS", 40);
  std::map<std::string, int> outcomes;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Simulation simulation(seed);
    simulation.run(300);
    if (testing::Test::HasFatalFailure()) return;
    for (const auto& [outcome, count] : simulation.outcomes) outcomes[outcome] += count;
  }
  if (seeds < 40) return;
  // Each of them is tested.
  EXPECT_GT(outcomes["id"], 500);
  EXPECT_GT(outcomes["RESOURCE_EXHAUSTED"], 200);
}

}  // namespace
}  // namespace atl::pools
