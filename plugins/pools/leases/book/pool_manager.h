/// All pools and leases of a server, for the calls of clients.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pools/leases/book/pool_book.h"
#include "pools/leases/book/pool_runner.h"

namespace atl::pools {

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

/// Each call is a whole change or none: what it answers with success is on the disk. Callers of this class check to whom a lease belongs before
/// they name it here; names and idempotency keys are kept for each owner. It has no lock: it is used on the executor of the
/// PoolContext alone; only the functions of the launcher's listener are called on any thread.
class PoolManager {
 public:
  /// All of these outlive this.
  PoolManager(const PoolContext& with, Store& store, PoolEvents& events, LeaseRoutes& routes);
  PoolManager(const PoolManager&) = delete;
  PoolManager& operator=(const PoolManager&) = delete;

  /// What the store has. Once, before anything else. Errors: as Store::load().
  Status restore();
  const PoolBook& book() const noexcept { return book_; }
  /// For those who watch leases, or know what they are used for.
  LeaseBook& leases() noexcept { return book_.leases; }
  /// Who is called by the launcher. [any]
  LauncherListener& launcher_listener() noexcept { return runner_; }

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

  // --- names of leases ---
  /// From now on it stands for this lease, to the calls of its owner. Errors: INVALID_ARGUMENT; NOT_FOUND the lease, among the owner's; RESOURCE_EXHAUSTED too many; as Store::write().
  Status set_name(std::string_view owner, std::string_view name, std::string_view lease);
  /// Errors: NOT_FOUND; as Store::write().
  Status delete_name(std::string_view owner, std::string_view name);

 private:
  /// Errors: NOT_FOUND; FAILED_PRECONDITION it is being deleted.
  Result<Pool*> find_open_pool(std::string_view name) const;
  /// The pool of a lease that is asked for. Errors: of acquire(), as far as they are seen by the definition.
  Result<Pool*> pool_for(const LeaseDefinition& definition) const;
  /// \returns whether it is to be placed: it has lost its instance, and waited
  bool restore_lease(const LeaseRecord& record);

  const PoolContext& with_;
  PoolEvents& events_;
  PoolBook book_;
  PoolRunner runner_;
  Alive alive_;
};

}  // namespace atl::pools
