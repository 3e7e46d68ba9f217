/// One pool: its instances, and how many of them there are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pools/leases/book/lease.h"
#include "pools/leases/book/pool_places.h"
#include "pools/leases/servers/instance.h"
#include "pools/leases/store/store.h"

namespace atl::pools {

class Pool;

class PoolOwner {
 public:
  /// Errors: nothing is changed.
  virtual Status write(std::span<const Change> changes) = 0;
  /// The server of an instance is one of this id from now on.
  virtual void instance_made(Pool& pool, PoolInstance& instance) = 0;
  virtual void instance_changed(Pool& pool, PoolInstance& instance) = 0;
  virtual void instance_gone(Pool& pool, PoolInstance& instance) = 0;
  /// Its instance is lost: it is to be taken off and put elsewhere, to wait(), or to end.
  /// \param is_last  it need not wait: there is nothing to wait for
  virtual void lease_lost(Pool& pool, Lease& lease, const Status& reason, bool is_last) = 0;
  /// It is being deleted, and nothing is left of it. It may be destroyed in it.
  virtual void pool_empty(Pool& pool) = 0;

 protected:
  ~PoolOwner() = default;
};

/// Keeps as many instances as it has to have, stops those that are idle, and sees that leases leave what has failed.
class Pool final : private InstanceOwner {
 public:
  Pool(const PoolContext& with, PoolOwner& owner, BackendNames& names, PoolRecord record);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  virtual ~Pool() = default;

  const PoolRecord& record() const noexcept { return record_; }
  const std::string& name() const noexcept { return record_.definition.name; }
  PoolPlaces& places() noexcept { return places_; }
  const PoolPlaces& places() const noexcept { return places_; }
  const std::set<Lease*>& leases() const noexcept { return leases_; }

  /// The smallest and the largest number of instances.
  void resize(uint32_t min_instances, uint32_t max_instances);
  /// It takes no leases any more and goes with its last instance.
  void begin_deletion();

  // --- instances ---
  /// What is to be recorded for one more.
  InstanceRecord draft_instance() const;
  /// It has been recorded.
  void start_instance(const InstanceRecord& record);
  /// It was there before the process was started.
  void restore_instance(const InstanceRecord& record);
  /// Null: there is none.
  PoolInstance* find(uint32_t number) noexcept;
  /// By the id of its server; likewise.
  PoolInstance* find_server(std::string_view id) noexcept;
  const PoolInstance& instance(uint32_t number) const { return *slots_.at(number).instance; }
  const BackendNames& backend_names() const noexcept { return names_; }
  InstanceState state_of(uint32_t number) const { return slots_.at(number).instance->state(); }
  /// With the backends as names.
  InstanceRecord record_of(uint32_t number) const;
  /// Starts and stops what is to be started and stopped now.
  void keep_up();

  // --- leases ---
  /// \param needs  as PoolPlaces::decide() had them
  void put(Lease& lease, uint32_t number, const PlaceNeeds& needs);
  /// It has no place until an instance has ended; then the owner is asked again.
  void wait(Lease& lease, const Status& reason);
  /// It is on none any more, nor waits. \param needs  likewise
  void take_off(Lease& lease, const PlaceNeeds& needs);

 private:
  struct Slot {
    std::unique_ptr<PoolInstance> instance;
    bool is_adopted = false;    ///< of a process before this one; it is not known yet whether it is there
    int64_t idle_since_ns = 0;  ///< steady clock; means something without leases
  };

  void instance_ready(PoolInstance& instance) override;
  void instance_seen(PoolInstance& instance, const ServedModels& models, int64_t asked_ns) override;
  void instance_failed(PoolInstance& instance, const Status& reason) override;
  void instance_ended(PoolInstance& instance) override;

  bool replace_server(PoolInstance& instance);
  void place_waiting();
  void take_leases(const PoolInstance& instance, const Status& reason);
  std::vector<Lease*> leases_on(const PoolInstance& instance) const;
  void make_instance(const InstanceRecord& record, bool adopt);
  void start_missing();
  void stop_idle();
  void keep_up_at(int64_t time_ns);
  /// \param is_spare  there are more instances than have to be
  bool may_be_stopped(uint32_t number, const Slot& slot, bool is_spare) const;
  /// When, on the steady clock.
  int64_t stop_at(uint32_t number, const Slot& slot) const;
  uint32_t wanted() const noexcept { return record_.is_deleting ? 0 : record_.definition.min_instances; }
  /// Instances that do not end.
  uint32_t living() const noexcept;

  const PoolContext& with_;
  PoolOwner& owner_;
  BackendNames& names_;
  PoolRecord record_;
  PoolPlaces places_;
  std::map<uint32_t, Slot> slots_;
  std::set<Lease*> leases_;
  std::map<Lease*, Status> waiting_;  ///< of these, and why they lost their instance
  int64_t not_before_ns_ = 0;         ///< steady clock: nothing is started by itself until then
  int64_t backoff_ns_ = 0;
  int64_t keep_up_ns_ = INT64_MAX;  ///< when the next timer is due
  bool is_keeping_up_ = false;
  Alive alive_;
};

}  // namespace atl::pools
