/// All leases of a server: those that live, and for a while those that have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pools/leases/book/lease.h"
#include "pools/leases/book/lease_names.h"
#include "pools/leases/book/lease_routes.h"
#include "pools/leases/book/lease_use.h"
#include "pools/leases/book/pool_events.h"
#include "pools/leases/store/store.h"

namespace atl::pools {

/// Who follows one lease.
class LeaseWatcher {
 public:
  /// The state of the lease, or of one of its models, has changed. In this call the watcher may stop
  /// watching, and may ask the book for nothing else.
  virtual void lease_changed(const Lease& lease) = 0;

 protected:
  ~LeaseWatcher() = default;
};

/// NOT_FOUND: there is no such lease, or it is another owner's.
inline Status no_lease(std::string_view id) { return not_found("lease '", id, "' is not found"); }

/// Finds leases, keeps their time, publishes their changes, and remembers them when they are over. The book decides neither where a
/// lease is placed nor what is loaded. It has no lock: it is used on the executor of the PoolContext alone, where it calls watchers and events too.
class LeaseBook {
 public:
  struct Entry {
    std::unique_ptr<Lease> lease;
    uint64_t order = 0;                        ///< of creation
    int64_t expires_ns = 0;                    ///< steady clock
    TimerId timer = 0;                         ///< of its end; once it is over of its being forgotten
    bool was_moved = false;                    ///< to another instance, since it was ACTIVE
    LeaseState told = LeaseState::kReleasing;  ///< the state that others were told of
    int64_t pending_ns = 0;                    ///< steady clock; since when it was, or is, PENDING
    std::set<LeaseWatcher*> watchers;
  };

  /// \param routes  has a lock of its own, for requests on other threads: nothing else is done under it \param names  all outlive this
  LeaseBook(const PoolContext& with, Store& store, PoolEvents& events, LeaseRoutes& routes, LeaseNames& names)
      : with_(with), store_(store), events_(events), routes_(routes), names_(names) {}
  LeaseBook(const LeaseBook&) = delete;
  LeaseBook& operator=(const LeaseBook&) = delete;

  // --- looking at them ---
  /// The lease of this id, also if it ended not long ago; null: there is none.
  const Lease* find(std::string_view id) const;
  /// The entry of a lease that is there.
  Entry& at(const std::string& id) { return entries_.at(id); }
  /// The lease of this id if it belongs to the owner; null: there is none, or it is another owner's. \param owner  empty: nobody
  const Lease* find_of(std::string_view owner, std::string_view id) const;
  /// The id of the lease that its owner has asked for by the same idempotency key; empty: there is none.
  std::string find_key(const LeaseDefinition& definition) const;
  /// In the order in which they were created, whoever has them. \param pool  empty: of all
  std::vector<const Lease*> of_pool(std::string_view pool) const;
  /// How many leases are not over.
  uint32_t live_count() const noexcept { return live_; }
  /// \param id  of a lease that is there
  void watch(const std::string& id, LeaseWatcher& watcher) { at(id).watchers.insert(&watcher); }
  /// Does nothing if this watcher does not watch the lease.
  void stop_watching(std::string_view id, LeaseWatcher& watcher);
  /// Sets who knows what leases are used for. Null, which holds until the first call: nobody knows.
  void set_use(const LeaseUse* use) noexcept { use_ = use; }
  /// What the lease was used for; null: that is not known.
  const ObservedUse* observed(const Lease& lease) const {
    return use_ == nullptr ? nullptr : use_->observed(lease.id());
  }

  // --- for those who change them ---
  /// Sets what is called when the time of a lease is over and it is not in use. Once, before the first add().
  void set_expired(std::function<void(Lease&)> expired) { expired_ = std::move(expired); }
  /// Adds a lease that ends at expires_ns unless it is renewed. \param record  with an id that no other lease has
  Entry& add(LeaseRecord record, int64_t expires_ns);
  /// Makes the lease's time longer, or leaves it where it is longer already. \param by  "client" or "use" \returns when the lease ends, wall clock
  /// Errors: as Store::write().
  Result<int64_t> renew(Entry& entry, int64_t duration_ns, std::string_view by);
  /// Keeps a lease that is over for so long, and forgets it then.
  void keep_history(Entry& entry, int64_t for_ns);
  /// Forgets the lease at once; its record in the store stays.
  void forget(const std::string& id);
  /// The lease has got a place. \param why  it is pending: "moved", or nothing
  void placed(Entry& entry, std::string_view why);
  /// Tells routes, events and watchers that the state of the lease, or of one of its models, has changed.
  void publish(Lease& lease);
  /// Gives the routes the lease as it is now.
  void route(const Entry& entry);

 private:
  /// An owner and its idempotency key.
  using OwnedKey = std::pair<std::string, std::string>;

  void publish_state(Entry& entry, std::string_view why_pending);
  void expire(const std::string& id);
  bool was_used(const Lease& lease) const;
  void drop(const std::string& id);
  void set_timer(Entry& entry, int64_t time_ns, void (LeaseBook::*then)(const std::string&));

  const PoolContext& with_;
  Store& store_;
  PoolEvents& events_;
  LeaseRoutes& routes_;
  LeaseNames& names_;
  const LeaseUse* use_ = nullptr;
  std::function<void(Lease&)> expired_;
  std::unordered_map<std::string, Entry> entries_;  ///< by id
  std::map<OwnedKey, std::string> keys_;            ///< ids of leases
  uint64_t created_ = 0;
  uint32_t live_ = 0;
  Alive alive_;
};

}  // namespace atl::pools
