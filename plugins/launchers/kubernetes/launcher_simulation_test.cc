#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

#include "launchers/kubernetes/testing/launcher_world.h"

namespace atl::launchers {
namespace {

/// Servers of one process, with everything that a launcher promises about them checked as it is said.
class CheckedServers final : public LauncherListener {
 public:
  explicit CheckedServers(FakeCluster& cluster) : cluster_(cluster) {}
  virtual ~CheckedServers() = default;

  struct Server {
    bool is_running = false, is_ending = false;
  };
  void expect(const std::string& id) { servers[id]; }
  void server_running(std::string_view id, const ServerAddress& address) noexcept override {
    const auto server = servers.find(std::string(id));
    if (server == servers.end()) return problem(id, "runs, and nobody waits for it");
    if (std::exchange(server->second.is_running, true)) problem(id, "runs twice");
    if (address.http.host.empty()) problem(id, "has no address");
  }
  void server_ended(std::string_view id, Status reason) noexcept override {
    const auto server = servers.find(std::string(id));
    if (server == servers.end()) return problem(id, "ends twice");
    if (reason.ok() != server->second.is_ending && reason.ok())
      problem(id, "ends well, and nobody has asked for it");
    // The quota of a server is given to another one when it has ended.
    if (cluster_.has_pod(std::string(id))) {
      const Json& pod = cluster_.pod_of(std::string(id));
      if (text_at(pod, {"status", "phase"}) == "Running" && !pod["metadata"].contains("deletionTimestamp"))
        problem(id, cat("has ended, and its pod runs: ", reason.text()));
    }
    servers.erase(server);
  }
  void problem(std::string_view id, std::string_view what) {
    if (problems.size() < 2'000) problems += cat(id, " ", what, "\n");
  }

  std::map<std::string, Server> servers;
  std::string problems;

 private:
  FakeCluster& cluster_;
};

/// Anything in any order: servers come and go, pods fail and are killed, watches break, versions are forgotten, answers are lost, calls are
/// refused for a while, lists have pages, the cluster is away, the process begins anew.
class Simulation {
 public:
  explicit Simulation(uint64_t seed) : world_(seed), servers_(world_.cluster) {
    world_.cluster.lost_percent = seed % 3 == 0 ? 0 : 20;
    world_.cluster.refused_percent = seed % 5 == 0 ? 30 : 0;
    world_.cluster.page_size = seed % 4 == 0 ? 2 : 500;
    world_.cluster.longest_way_ns = seed % 2 == 0 ? kNsPerMs : 3 * kNsPerSecond;
  }

  std::string run(int steps) {
    for (int i = 0; i < steps && servers_.problems.empty(); ++i) {
      step();
      world_.executors.run_for(static_cast<int64_t>(random().below(2 * kNsPerSecond)));
    }
    world_.cluster.is_away = world_.cluster.is_full = false;
    world_.cluster.lost_percent = world_.cluster.refused_percent = 0;
    for (auto& [id, server] : servers_.servers) end(id, server);
    const bool all_end = world_.wait([&] { return servers_.servers.empty() && world_.cluster.pods.empty(); },
                                     1'200 * kNsPerSecond);
    if (!all_end) {
      for (const auto& [id, server] : servers_.servers) servers_.problem(id, "does not end");
      for (const auto& [name, pod] : world_.cluster.pods) servers_.problem(name, "is left");
    }
    return servers_.problems;
  }

 private:
  test::Random& random() { return world_.executors.random(); }

  void step() {
    FakeCluster& cluster = world_.cluster;
    switch (random().below(14)) {
      case 0:
      case 1:
      case 2: {
        const std::string id = cat("s", ++ids_);
        servers_.expect(id);
        return world_.launcher->launch(LauncherWorld::spec(id), servers_);
      }
      case 3:
      case 4:
        return with_some(servers_.servers, [&](const std::string& id, auto& server) { end(id, server); });
      case 5:
        return with_some(cluster.pods, [&](const std::string& name, auto&) { cluster.fail(name, 1); });
      case 6:
        return with_some(cluster.pods, [&](const std::string& name, auto&) { cluster.drop(name); });
      case 7:
        return cluster.break_watch();
      case 8:
        return cluster.forget_events();
      case 9:
        cluster.is_away = random().chance(30);
        return;
      case 10:
        cluster.is_full = random().chance(30);
        return;
      case 11:
        return cluster.bookmark();
      case 12:
        return with_some(cluster.pods, [&](const std::string& name, auto&) { evict(name); });
      default:
        if (random().chance(30)) restart();
    }
  }
  /// It is said beforehand, and the pod serves on until it ends.
  void evict(const std::string& name) {
    Json status = world_.cluster.pods.at(name)["status"];
    status["conditions"] = Json::array(
        {{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "PreemptionByScheduler"}}});
    world_.cluster.change(name, status);
    if (random().chance(50)) world_.cluster.fail(name, 137, "OOMKilled");
  }
  void end(const std::string& id, CheckedServers::Server& server) {
    server.is_ending = true;
    world_.launcher->end(id);
  }
  /// Servers that were to end are ended again, as the pools do it.
  void restart() {
    world_.launcher->forget(servers_);
    world_.restart();
    for (auto& [id, server] : servers_.servers) {
      server.is_running = false;
      world_.launcher->adopt(LauncherWorld::spec(id), servers_);
      if (server.is_ending) world_.launcher->end(id);
    }
  }
  template <class Map, class Do>
  void with_some(Map& map, Do what) {
    if (map.empty()) return;
    auto chosen = map.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random().below(map.size())));
    const std::string key = chosen->first;
    what(key, chosen->second);
  }

  LauncherWorld world_;
  CheckedServers servers_;
  int ids_ = 0;
};

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(LauncherSimulation, NothingIsLostWhateverHappens) {
  const uint64_t first = number_from("ATOLL_SIMULATION_FIRST_SEED", 1);
  const uint64_t seeds = number_from("ATOLL_SIMULATION_SEEDS", 40);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::string problems = Simulation(seed).run(60);
    ASSERT_EQ(problems, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace atl::launchers
