/// One pool: its instances, and how many of them there are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pools/leases/book/lease.h"
#include "pools/leases/book/model_backends.h"
#include "pools/leases/book/pool_places.h"
#include "pools/leases/servers/instance.h"

namespace atl::pools {

/// What a pool needs done so that it has as many instances as it has to have.
struct PoolStep {
  enum class Kind : uint8_t {
    kNothing,
    kStart,  ///< one more instance is to be recorded and started: draft_instance()
    kGone  ///< it is being deleted, and nothing is left of it: that is to be recorded, and it is to be destroyed
  };
  Kind kind = Kind::kNothing;
  int64_t again_ns =
      INT64_MAX;  ///< steady clock: when there may be a further step, if nothing happens before
};

/// Knows its instances, the leases on them and those that wait, and how many instances it has to have. It stops those that are idle;
/// whatever has to be recorded, and what follows for leases, is done by others. It has no lock: it is used on the executor of the
/// PoolContext alone.
class Pool {
 public:
  /// \param backends  of all pools; both outlive this
  Pool(const PoolContext& with, ModelBackends& backends, PoolRecord record);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const PoolRecord& record() const noexcept { return record_; }
  const std::string& name() const noexcept { return record_.definition.name; }
  PoolPlaces& places() noexcept { return places_; }
  const PoolPlaces& places() const noexcept { return places_; }
  const BackendNames& backend_names() const noexcept { return backends_.names(); }
  const std::set<Lease*>& leases() const noexcept { return leases_; }

  /// The smallest and the largest number of instances, or that it is being deleted: then it takes no leases any more and goes with its last
  /// instance.
  void change(PoolRecord record);
  PoolStep next();
  /// Calls back at that time, unless that is due earlier anyway.
  template <class Callback>
  void wake_at(int64_t time_ns, Callback callback) {
    if (wake_ns_ <= time_ns) return;
    wake_ns_ = time_ns;
    with_.executor.post_at(time_ns, make_task(alive_.only_while([this, time_ns, callback] {
                             if (wake_ns_ == time_ns) wake_ns_ = INT64_MAX;
                             callback();
                           })));
  }

  // --- instances ---
  /// What is to be recorded for one more.
  InstanceRecord draft_instance() const;
  /// The same instance, with another server in place of the one that it had.
  InstanceRecord with_new_server(InstanceRecord record) const;
  /// What is to be recorded of it now.
  InstanceRecord record_of(uint32_t number) const;
  /// The server of an instance.
  ServerSpec server_of(const InstanceRecord& record) const;
  /// There is a place for leases from now on. \param record  of an instance that none has the number of
  void add_place(const InstanceRecord& record);
  /// The instance whose place is there. \param is_adopted  it was there before the process was started
  /// \returns the one that it takes the place of; null: none
  std::unique_ptr<PoolInstance> set_instance(std::unique_ptr<PoolInstance> instance, bool is_adopted);
  /// Null: there is none.
  PoolInstance* find(uint32_t number) noexcept;
  /// One that is there.
  const PoolInstance& instance(uint32_t number) const { return *slots_.at(number).instance; }
  /// Whether it is of a process before this one, and it is not known yet whether its server is there.
  bool is_adopted(uint32_t number) const { return slots_.at(number).is_adopted; }
  /// Whether there is one that has failed and has not ended yet.
  bool has_failed_instance() const noexcept { return count_of(InstanceState::kFailed) != 0; }
  void instance_ready(uint32_t number);
  /// It takes no leases any more, and the next one is not started at once.
  void instance_failed(uint32_t number);
  /// It has ended, and nothing is on it; destroys it.
  void remove_instance(uint32_t number);

  // --- leases ---
  std::vector<Lease*> leases_on(const PoolInstance& instance) const;
  void put(Lease& lease, uint32_t number);
  /// It has no place until an instance has ended.
  void wait(Lease& lease, const Status& reason);
  /// Those that wait, and why they lost their instance.
  const std::map<Lease*, Status>& waiting() const noexcept { return waiting_; }
  /// It is on none any more, nor waits.
  void take_off(Lease& lease);

 private:
  struct Slot {
    std::unique_ptr<PoolInstance> instance;
    bool is_adopted = false;
    int64_t idle_since_ns = 0;  ///< steady clock; means something without leases
  };

  /// \returns when the next one is to be stopped, on the steady clock
  int64_t stop_idle();
  /// \param is_spare  there are more instances than have to be
  bool may_be_stopped(uint32_t number, const Slot& slot, bool is_spare) const;
  /// When, on the steady clock.
  int64_t stop_at(uint32_t number, const Slot& slot) const;
  uint32_t wanted() const noexcept { return record_.is_deleting ? 0 : record_.definition.min_instances; }
  size_t count_of(InstanceState state) const noexcept;
  /// Instances that do not end.
  size_t living() const noexcept {
    return count_of(InstanceState::kStarting) + count_of(InstanceState::kReady);
  }

  const PoolContext& with_;
  ModelBackends& backends_;
  PoolRecord record_;
  PoolPlaces places_;
  std::map<uint32_t, Slot> slots_;
  std::set<Lease*> leases_;
  std::map<Lease*, Status> waiting_;  ///< of these
  int64_t not_before_ns_ = 0;         ///< steady clock: nothing is started by itself until then
  int64_t backoff_ns_ = 0;
  int64_t wake_ns_ = INT64_MAX;  ///< when the next timer is due
  Alive alive_;
};

}  // namespace atl::pools
