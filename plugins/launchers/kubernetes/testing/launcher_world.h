/// A launcher with a cluster, on a simulated clock.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "atoll/pools/launcher.h"
#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"
#include "launchers/kubernetes/kubernetes_launcher.h"
#include "launchers/kubernetes/testing/fake_cluster.h"

namespace atl::launchers {

inline KubernetesSettings fake_cluster_settings(const std::string& directory) {
  constexpr std::string_view kPlaces[] = {"repository", "host", "http_port", "key", "pool"};
  KubernetesSettings settings;
  settings.state_directory = directory;
  settings.access.name_space = "serving";
  settings.pods.keeper = "0123";
  settings.pods.image = "atoll:1";
  settings.pods.stop_timeout_ns = 30 * kNsPerSecond;
  settings.pods.start_timeout_ns = 240 * kNsPerSecond;
  settings.default_runtime = "server";
  settings.queue_timeout_ns = 60 * kNsPerSecond;
  const auto add = [&](const char* name, const char* text) {
    settings.runtimes.emplace(name, std::move(InstanceCommand::parse(text, kPlaces)).value());
  };
  add("server", "server {repository} {host}:{http_port} {pool}");
  add("keyed", "server --key={key}");
  return settings;
}

struct LauncherWorld {
  explicit LauncherWorld(uint64_t seed = 1) : executors(clock, seed), cluster(executors) { restart(); }
  LauncherWorld(const LauncherWorld&) = delete;
  LauncherWorld& operator=(const LauncherWorld&) = delete;
  ~LauncherWorld() { end_process(); }

  /// As a new process does; listeners of the one before are forgotten.
  void restart() {
    end_process();
    SerialExecutorPtr executor = std::move(executors.create("launcher", {})).value();
    cluster.serve(executor.get());
    launcher = std::make_unique<KubernetesLauncher>(settings, cluster, clock, log);
    launcher->start(std::move(executor));
  }
  void end_process() {
    if (launcher == nullptr) return;
    cluster.serve(nullptr);
    launcher->stop();
  }
  /// In simulated time. \returns whether it has become true
  bool wait(const std::function<bool()>& is_true, int64_t limit_ns = 600 * kNsPerSecond) {
    const int64_t end_ns = clock.now_ns() + limit_ns;
    while (!is_true()) {
      if (executors.next_timer_ns() > end_ns && executors.run_ready(1) == 0) return false;
      if (clock.now_ns() >= end_ns || !executors.step()) return is_true();
    }
    return true;
  }
  static ServerSpec spec(const std::string& id) {
    ServerSpec spec;
    spec.id = id;
    spec.pool = "fraud";
    spec.key = "secret-key";
    return spec;
  }

  test::FakeClock clock;
  test::DeterministicExecutors executors;
  test::TemporaryDirectory directory;
  test::RecordingLog log;
  FakeCluster cluster;
  KubernetesSettings settings = fake_cluster_settings(directory.path());
  std::unique_ptr<KubernetesLauncher> launcher;
};

}  // namespace atl::launchers
