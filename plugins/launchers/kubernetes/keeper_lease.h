/// One keeper at a time: a Lease in the cluster (coordination.k8s.io), which one process holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/log.h"
#include "launchers/kubernetes/cluster_calls.h"
#include "launchers/kubernetes/json_fields.h"

namespace atl::launchers {

/// Taken when nobody holds it, or when its holder has let it stand for as long as it says: that is measured from when a change of it
/// was last seen, so clocks need not agree. Held for two thirds of that time from when it was asked for, and asked for again all the
/// time. All functions are called on one executor, but for the constructor.
class KeeperLease {
 public:
  static constexpr int64_t kDurationNs = 15 * kNsPerSecond;

  /// \param leases_path  of the namespace's \param keeper  whose pods it is about \param holder  this process, unlike all others
  KeeperLease(std::string leases_path, const std::string& keeper, std::string holder, ClusterCalls& calls,
              Clock& clock, Log& log);
  KeeperLease(const KeeperLease&) = delete;
  KeeperLease& operator=(const KeeperLease&) = delete;

  /// \param held  is called each time that it is held again; may be null
  void start(SerialExecutor& executor, std::function<void()> held);
  bool is_held() const noexcept { return clock_.now_ns() < held_until_ns_; }
  /// Lets another one have it at once, and does not take it again. \param done  is called when the cluster has answered, or at once
  void release(std::function<void()> done);

 private:
  using Answered = void (KeeperLease::*)(Result<HttpAnswer>);

  void ask();
  void asked(Result<HttpAnswer> answer);
  void make();
  void take(const Json& lease);
  void taken(Result<HttpAnswer> answer);
  void call(ApiCall call, Answered then);
  void later(int64_t pause_ns, void (KeeperLease::*then)());
  void renew() { take(lease_); }
  void lost(const std::string& why);
  /// The spec of one that this process holds from now on.
  Json own_spec(const Json& before) const;

  const std::string leases_path_, keeper_, name_, holder_;
  ClusterCalls& calls_;
  Clock& clock_;
  Log& log_;
  SerialExecutor* executor_ = nullptr;
  std::function<void()> on_held_;
  Json lease_;                 ///< as it was seen last
  int64_t seen_ns_ = 0;        ///< it has changed
  int64_t asked_ns_ = 0;       ///< the call began that asks for it
  int64_t held_until_ns_ = 0;  ///< 0: it is not held
  bool has_told_ = false;      ///< that another one holds it, or why it cannot be had
  bool is_held_told_ = false;
  bool is_released_ = false;
};

/// Calls that change something wait until this process holds the lease; what only reads does not wait.
class KeptCalls final : public ClusterCalls {
 public:
  KeptCalls(ClusterCalls& calls, KeeperLease& lease) : calls_(calls), lease_(lease) {}
  KeptCalls(const KeptCalls&) = delete;
  KeptCalls& operator=(const KeptCalls&) = delete;
  virtual ~KeptCalls() = default;

  /// The lease is held: what has waited goes on. On the executor.
  void resume();

  // --- ClusterCalls ---
  void call(ApiCall call, Done done) override;
  void watch(std::string path, OnEvent on_event, Done done) override {
    calls_.watch(std::move(path), std::move(on_event), std::move(done));
  }
  void end_watch() override { calls_.end_watch(); }

 private:
  ClusterCalls& calls_;
  KeeperLease& lease_;
  std::vector<std::pair<ApiCall, Done>> waiting_;  ///< one for each pod that is made or ended
};

/// Of the namespace's leases.
std::string leases_path(const std::string& name_space);
/// A name that no other process has: of this machine and a random number.
std::string unique_holder();

}  // namespace atl::launchers
