/// All pools and leases of a server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pools/leases/book/lease.h"
#include "pools/leases/book/lease_routes.h"
#include "pools/leases/book/lease_use.h"
#include "pools/leases/book/pool.h"
#include "pools/leases/book/pool_events.h"
#include "pools/leases/store/store.h"

namespace atl::pools {

/// Who follows one lease.
class LeaseWatcher {
 public:
  /// Its state, or that of a model, is another one. It may stop watching, and not ask for more.
  virtual void lease_changed(const Lease& lease) = 0;

 protected:
  ~LeaseWatcher() = default;
};

/// Where a lease would go.
struct LeasePlan {
  struct Candidate {
    Place place;
    std::string why_not;  ///< empty: it can host the lease
  };
  std::optional<uint32_t> instance;  ///< nothing: a new one, or none
  bool starts_instance = false;
  Status refusal;
  std::vector<Candidate> instances;  ///< all, by number
};

/// Each call is a whole change or none: what it answers with success is on the disk. Every function is called on the executor
/// of the PoolContext, but for those of LauncherListener.
class PoolManager final : public LauncherListener, private PoolOwner, private LeaseOwner {
 public:
  /// \param with  whose launcher_listener is this
  PoolManager(const PoolContext& with, Store& store, PoolEvents& events);
  /// Sets who knows what leases are used for. Null, which holds until the first call: nobody knows.
  void set_use(const LeaseUse* use) noexcept { use_ = use; }
  const LeaseUse* use() const noexcept { return use_; }
  /// Sets whom requests ask where leased models are. Null, which holds until the first call: nobody is asked.
  /// \param routes  outlives this
  void set_routes(LeaseRoutes* routes) noexcept { routes_ = routes; }
  PoolManager(const PoolManager&) = delete;
  PoolManager& operator=(const PoolManager&) = delete;
  virtual ~PoolManager();

  /// What the store has. Once, before anything else. Errors: as Store::load().
  Status restore();

  // --- pools ---
  /// Errors: INVALID_ARGUMENT a field; ALREADY_EXISTS; RESOURCE_EXHAUSTED too many; as Store::write().
  Status create_pool(const PoolDefinition& definition);
  /// \param min_instances  nothing: as it is; likewise the other one
  /// Errors: NOT_FOUND; INVALID_ARGUMENT; FAILED_PRECONDITION it is being deleted; as Store::write().
  Status update_pool(std::string_view name, std::optional<uint32_t> min_instances,
                     std::optional<uint32_t> max_instances);
  /// Gone when its last instance is. \param force  its leases are released before
  /// Errors: NOT_FOUND; FAILED_PRECONDITION it has leases; as Store::write().
  Status delete_pool(std::string_view name, bool force);
  /// Null: there is none.
  const Pool* find_pool(std::string_view name) const;
  const BackendNames& backend_names() const noexcept { return backend_names_; }
  const std::map<std::string, std::unique_ptr<Pool>, std::less<>>& pools() const noexcept { return pools_; }

  // --- leases ---
  /// Whether the models of a lease that is asked for are there; to be asked before acquire() and plan(), so that no server is started
  /// for one that is not. OK, too, of what these refuse for another reason, and of a key that is known.
  /// Errors: FAILED_PRECONDITION one is not there, or may not be used.
  void check_models(const LeaseDefinition& definition, std::function<void(Status)> done);
  /// Has a place when this returns, and is deployed then. \returns its id; of a key that is known the lease's that has it
  /// Errors: INVALID_ARGUMENT a field; NOT_FOUND the pool; FAILED_PRECONDITION it is being deleted; ALREADY_EXISTS the
  /// key is another lease's; RESOURCE_EXHAUSTED no instance can have it; as Store::write().
  Result<std::string> acquire(const LeaseDefinition& definition);
  /// What acquire() would do. Errors: of acquire(), but for RESOURCE_EXHAUSTED and what belongs to a key.
  Result<LeasePlan> plan(const LeaseDefinition& definition);
  /// Never ends earlier by it. \param duration_ns  from now on; nothing: its own
  /// \returns when it ends, wall clock
  /// Errors: NOT_FOUND; FAILED_PRECONDITION it is over, or ends; INVALID_ARGUMENT; as Store::write().
  Result<int64_t> renew(std::string_view id, std::optional<int64_t> duration_ns);
  /// Begins. One that has ended, or ends, stays as it is. Errors: NOT_FOUND; as Store::write().
  Status release(std::string_view id);
  /// Also one that ended not long ago. Null: there is none.
  const Lease* find_lease(std::string_view id) const;
  /// In the order in which they were created. \param pool  empty: of all
  std::vector<const Lease*> leases(std::string_view pool) const;
  /// Errors: NOT_FOUND.
  Status watch(std::string_view id, LeaseWatcher& watcher);
  /// Does nothing if it does not watch.
  void stop_watching(std::string_view id, LeaseWatcher& watcher);

  // --- names of leases ---
  /// From now on it stands for this lease. Errors: INVALID_ARGUMENT; NOT_FOUND the lease; as Store::write().
  Status set_name(std::string_view name, std::string_view lease);
  /// Errors: NOT_FOUND; as Store::write().
  Status delete_name(std::string_view name);
  const std::map<std::string, std::string, std::less<>>& names() const noexcept { return names_; }
  /// The lease of an id or a name; the text itself if there is none.
  std::string lease_id_of(std::string_view id_or_name) const;
  /// The first one that stands for the lease; empty: none does.
  std::string_view lease_name(const Lease& lease) const;

  // --- the launcher's: [any] ---
  void server_running(std::string_view id, const ServerAddress& address) noexcept override;
  void server_ended(std::string_view id, Status reason) noexcept override;

 private:
  struct Entry {
    std::unique_ptr<Lease> lease;
    uint64_t order = 0;                        ///< of creation
    int64_t expires_ns = 0;                    ///< steady clock
    TimerId timer = 0;                         ///< of its end; once it is over of its being forgotten
    bool was_moved = false;                    ///< to another instance, since it was ACTIVE
    LeaseState told = LeaseState::kReleasing;  ///< the state that others were told of
    int64_t pending_ns = 0;                    ///< steady clock; since when it was, or is, PENDING
    std::set<LeaseWatcher*> watchers;
    std::set<std::string, std::less<>> names;  ///< that stand for it; the other way round in names_
  };
  using Entries = std::unordered_map<std::string, Entry>;

  // --- PoolOwner ---
  Status write(std::span<const Change> changes) override;
  void instance_made(Pool& pool, PoolInstance& instance) override;
  void instance_changed(Pool& pool, PoolInstance& instance) override;
  void instance_gone(Pool& pool, PoolInstance& instance) override;
  void lease_lost(Pool& pool, Lease& lease, const Status& reason, bool is_last) override;
  void pool_empty(Pool& pool) override;
  // --- LeaseOwner ---
  bool is_known(const LeaseModel& model) const override;
  Status lease_deployed(Lease& lease, const std::vector<LeasedModel>& found) override;
  Status lease_ended(Lease& lease, LeaseState state) override;
  void lease_changed(Lease& lease) override;

  struct Needs {
    PlaceNeeds place;
    std::vector<std::string_view> models;  ///< of it
  };
  Needs needs_of(const LeaseDefinition& definition) const;
  std::optional<BackendSet> backends_of(const LeaseDefinition& definition) const;
  Result<Pool*> pool_for(const LeaseDefinition& definition);
  /// \param why  of its being pending: "moved", or nothing
  Status place(Pool& pool, Lease& lease, std::string_view why);
  Entry& add(LeaseRecord record, int64_t expires_ns);
  void drop(const std::string& id);
  void forget(const std::string& id);
  void expire(const std::string& id);
  bool was_used(const Lease& lease) const;
  void arm(Entry& entry, int64_t time_ns, void (PoolManager::*then)(const std::string&));
  Status renew(Entry& entry, int64_t duration_ns, std::string_view by);
  bool remember(const LeasedModel& model);
  void bind_name(const std::string& name, const std::string& lease);
  void restore_lease(const LeaseRecord& record);
  void keep_history(Entry& entry, int64_t for_ns);
  void route(const Entry& entry);
  PoolInstance* find_instance(const std::string& id);
  void publish(PoolEvent::Kind kind, const Lease& lease, std::string_view reason = {}, Code code = Code::kOk,
               int64_t deploy_ns = 0);
  void tell_state(Entry& entry);
  void publish(PoolEvent::Kind kind, const Pool& pool, const PoolInstance* instance = nullptr,
               std::string_view reason = {});

  const PoolContext& with_;
  Store& store_;
  PoolEvents& events_;
  const LeaseUse* use_ = nullptr;
  LeaseRoutes* routes_ = nullptr;
  BackendNames backend_names_;
  std::map<std::string, std::unique_ptr<Pool>, std::less<>> pools_;
  std::map<std::string, Pool*, std::less<>> instances_;  ///< by the id of their server
  Entries leases_;                                       ///< by id
  uint64_t created_ = 0;
  uint32_t live_ = 0;                                                 ///< leases that are not over
  std::map<std::string, std::string> keys_;                           ///< idempotency keys: ids of leases
  std::map<std::string, std::string, std::less<>> names_;             ///< ids of leases
  std::map<std::pair<std::string, std::string>, BackendSet> models_;  ///< backends by name and source
  bool is_store_failing_ = false;
  bool is_restoring_ = false;          ///< no pool may go yet
  std::vector<std::string> homeless_;  ///< leases that restore() has to find a place for, by id
  Alive alive_;
};

}  // namespace atl::pools
