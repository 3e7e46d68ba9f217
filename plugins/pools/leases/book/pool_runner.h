/// What pools and leases do by themselves, between the calls of clients.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pools/leases/book/pool_book.h"

namespace atl::pools {

/// Takes the steps that leases and pools ask for: loads and unloads models, starts instances, records what has come of it, and puts leases
/// elsewhere whose instance is lost. Each change is recorded before it is made.
/// It has no lock: it is used on the executor of the PoolContext alone. The functions of LauncherListener are called on any thread, and go
/// on there.
class PoolRunner final : public LauncherListener, private InstanceOwner {
 public:
  /// All of these outlive this.
  PoolRunner(const PoolContext& with, PoolBook& book, PoolEvents& events);
  PoolRunner(const PoolRunner&) = delete;
  PoolRunner& operator=(const PoolRunner&) = delete;
  virtual ~PoolRunner() = default;

  /// Puts the lease on an instance, which is started if there is none for it.
  /// \param why  it is pending: "moved", or nothing
  /// Errors: those of PoolPlaces::decide() and Store::write().
  Status place(Pool& pool, Lease& lease, std::string_view why);
  /// Takes the steps of a lease to which something has happened.
  void advance(Lease& lease);
  /// Begins the end of a lease. \param failure  of kFailed
  void end(Lease& lease, LeaseState state, const Status& failure = {});
  /// The pool has as many instances as it has to have. It may be gone when this returns.
  void keep_up(Pool& pool);
  /// The instance has been recorded, and has its place. \param adopt  its server was launched before
  /// \returns the instance of this number that was there; null: none
  std::unique_ptr<PoolInstance> start_instance(Pool& pool, const InstanceRecord& record, bool adopt);

  // --- the launcher's: [any] ---
  void server_running(std::string_view id, const ServerAddress& address) noexcept override;
  void server_ended(std::string_view id, Status reason) noexcept override;

 private:
  // --- InstanceOwner ---
  void instance_ready(PoolInstance& instance) override;
  void instance_seen(PoolInstance& instance, const ServedModels& models, int64_t asked_ns) override;
  void instance_failed(PoolInstance& instance, const Status& reason) override;
  void instance_ended(PoolInstance& instance) override;

  void record_active(Lease& lease, std::span<const LeasedModel> found);
  void record_end(Lease& lease, LeaseState end_state);
  void take_leases(Pool& pool, const PoolInstance& instance, const Status& reason);
  void move(Pool& pool, Lease& lease, const Status& reason, bool is_last);
  void move_waiting(Pool& pool);
  bool replace_server(Pool& pool, PoolInstance& instance);
  void remove(Pool& pool);

  const PoolContext& with_;
  PoolBook& book_;
  PoolEvents& events_;
  std::map<std::string, PoolInstance*, std::less<>> instances_;  ///< by the id of their server
  const Pool* held_ = nullptr;  ///< its leases are being moved: nothing is started for it, and it does not go
  Alive alive_;
};

}  // namespace atl::pools
