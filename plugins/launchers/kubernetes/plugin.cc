/// launchers/kubernetes: servers of pools as pods of a cluster.
#include "atoll/core/plugin.h"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "launchers/kubernetes/http_cluster_calls.h"
#include "launchers/kubernetes/keeper_lease.h"
#include "launchers/kubernetes/keeper_name.h"
#include "launchers/kubernetes/kubernetes_launcher.h"
#include "launchers/kubernetes/option_table.h"

namespace atl::launchers {
namespace {

class KubernetesLauncherPlugin final : public Plugin {
 public:
  explicit KubernetesLauncherPlugin(Host& host) : host_(host) {}
  Status init() override {
    Result<KubernetesSettings> settings = KubernetesSettings::read(host_.options());
    if (!settings.ok()) return std::move(settings).status();
    settings_ = std::move(settings).value();
    calls_.emplace(settings_.access, settings_.call_timeout_ns, settings_.watch_silence_ns, host_.clock(),
                   host_.log());
    return {};
  }
  Status start() override {
    Result<std::string> keeper = keeper_name(settings_.state_directory);
    if (!keeper.ok()) return std::move(keeper).status().note("option 'state_directory'");
    settings_.pods.keeper = std::move(keeper).value();
    Result<SerialExecutorPtr> executor = host_.executors().create("launcher", {});
    if (!executor.ok()) return std::move(executor).status();
    ATOLL_RETURN_IF_ERROR(calls_->start(host_.executors(), **executor));
    executor_ = executor.value().get();
    if (settings_.keeper_lease) {
      lease_.emplace(leases_path(settings_.access.name_space), settings_.pods.keeper, unique_holder(),
                     *calls_, host_.clock(), host_.log());
      kept_calls_.emplace(*calls_, *lease_);
    }
    launcher_.emplace(settings_, lease_ ? static_cast<ClusterCalls&>(*kept_calls_) : *calls_, host_.clock(),
                      host_.log());
    launcher_->start(std::move(executor).value());
    if (lease_)
      executor_->post(make_task([this] { lease_->start(*executor_, [this] { kept_calls_->resume(); }); }));
    return {};
  }
  void stop() override {
    if (lease_ && launcher_) release_lease();
    if (calls_) calls_->stop();
    if (launcher_) launcher_->stop();
  }
  Launcher& launcher() noexcept { return *launcher_; }

 private:
  /// So that the next keeper does not have to wait until it has run out.
  void release_lease() {
    const auto released = std::make_shared<std::promise<void>>();
    executor_->post(make_task([this, released] { lease_->release([released] { released->set_value(); }); }));
    (void)released->get_future().wait_for(std::chrono::nanoseconds(kReleaseNs));
  }

  static constexpr int64_t kReleaseNs = 2 * kNsPerSecond;

  Host& host_;
  KubernetesSettings settings_;
  std::optional<HttpClusterCalls> calls_;
  std::optional<KeeperLease> lease_;
  std::optional<KeptCalls> kept_calls_;
  std::optional<KubernetesLauncher> launcher_;
  SerialExecutor* executor_ = nullptr;  ///< the launcher's
};

}  // namespace

ATOLL_PLUGIN(
    KubernetesLauncherPlugin,
    {.name = "launchers/kubernetes",
     .version = "1.0.0",
     .license = "Apache-2.0",
     .help =
         "Starts the servers of pools as pods of a Kubernetes cluster, with CPU cores, GPUs and memory, and finds them "
         "again after a restart.",
     .flags = ATOLL_PLUGIN_UNTRIED,  // it starts and ends servers
     .provides = {provide<Launcher, &KubernetesLauncherPlugin::launcher>()},
     .options = kKubernetesOptions,
     .check = &KubernetesSettings::check});

}  // namespace atl::launchers
