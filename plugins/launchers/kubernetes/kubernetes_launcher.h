/// Servers as pods of a Kubernetes cluster.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "atoll/pools/launcher.h"
#include "launchers/kubernetes/cluster_calls.h"
#include "launchers/kubernetes/pod_server.h"
#include "launchers/kubernetes/pod_watch.h"
#include "launchers/kubernetes/settings.h"

namespace atl::launchers {

/// A server is known to its cluster by the name of its pod, which its id gives, so nothing else has to be kept. Nothing waits for the
/// cluster.
class KubernetesLauncher final : public Launcher, private PodWatchListener, private PodServerOwner {
 public:
  /// \param settings  with the keeper's name \param calls  on the executor that start() is given; they end before stop()
  KubernetesLauncher(KubernetesSettings settings, ClusterCalls& calls, Clock& clock, Log& log);
  KubernetesLauncher(const KubernetesLauncher&) = delete;
  KubernetesLauncher& operator=(const KubernetesLauncher&) = delete;
  virtual ~KubernetesLauncher() = default;

  /// [control]
  void start(SerialExecutorPtr executor);
  /// Pods stay. [control]
  void stop() noexcept;

  // --- Launcher ---
  void launch(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void adopt(const ServerSpec& server, LauncherListener& listener) noexcept override;
  void end(std::string_view id) noexcept override;
  void forget(LauncherListener& listener) noexcept override;

 private:
  using ServerPtr = std::shared_ptr<PodServer>;
  struct Leftover {
    std::string uid;
    bool is_asked = false;  ///< the call runs
  };

  // --- PodWatchListener ---
  void pod_changed(const PodView& pod) override;
  void pod_gone(const std::string& name) override;
  void pods_listed(uint64_t number) override;

  // --- PodServerOwner, and PodWatchListener ---
  void server_runs(const PodServer& server, const ServerAddress& address) override;
  void server_is_over(const PodServer& server, Status reason, const std::string& log,
                      const std::string& leftover) override;
  void cluster_answered(const Status& status) override;
  bool is_cluster_away() const override { return is_away_; }

  template <class Work>
  void run(Work work);
  /// Tells whoever listens to it. Under the mutex, so that forget() is sure.
  template <class Call>
  void notify(const std::string& id, Call call);
  void take(const ServerSpec& spec, LauncherListener& listener, bool is_adopted);
  ServerPtr find_pod(std::string_view name) const;
  /// Of all servers; they may go meanwhile.
  template <class Call>
  void for_each(Call call);
  void look_soon();
  void look_later();
  void look();
  void remove_leftovers();
  void leftover_removed(const std::string& pod, Result<HttpAnswer> answer);
  std::string keep_log(const ServerSpec& spec, const std::string& log) const;

  const KubernetesSettings settings_;
  const std::string namespace_path_;
  ClusterCalls& calls_;
  Clock& clock_;
  Log& log_;
  PodWatch watch_;  ///< the executor's, as all that follows
  PodServerContext context_;
  std::map<std::string, ServerPtr, std::less<>> servers_;
  std::map<std::string, Leftover, std::less<>>
      leftovers_;                      ///< pods of servers that have ended, still to be deleted
  std::deque<std::string> told_gone_;  ///< names of pods of the last servers that were said to be over
  bool is_away_ = false;               ///< the cluster, when it was asked last
  bool is_looking_ = false;            ///< there will be another look
  std::mutex mutex_;                   ///< guards what follows, and is held while listeners are called
  std::map<std::string, LauncherListener*, std::less<>> listeners_;
  SerialExecutorPtr executor_;
};

}  // namespace atl::launchers
