/// The service registry's core: who provides what, and who holds it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/registry.h"

namespace atl::kernel {

/// Names one plugin instance of one generation: two generations of "grpc" are two owners.
using OwnerId = uint64_t;

struct Publication {
  OwnerId owner = 0;
  ServiceInfo info;
  void* implementation = nullptr;
};

/// One change as ServiceChanged tells it.
struct ServiceChange {
  enum class Kind { kPublished, kReplaced, kWithdrawn };
  Kind kind;
  std::string interface_id;
  std::string instance;
};

/// One line of "who holds it".
struct Holding {
  OwnerId holder = 0;
  std::string holder_name;
  std::string interface_id;
  uint32_t count = 0;
};

/// Providers live in tables: the serving one and, while a reload builds the next generation, the next one.
/// Every owner sees one of the two, so that new instances resolve against the new graph before the old one
/// has noticed. Instances, their publications and the two tables change on the control thread; acquire,
/// release and list: [any].
class ServiceRegistry {
 public:
  /// \param on_idle  called, from any thread and with no lock held, when the last holder of a withdrawn owner
  /// let go.
  explicit ServiceRegistry(std::function<void()> on_idle) : on_idle_(std::move(on_idle)) {}

  /// Makes an instance known. \param bindings  interface id -> provider's instance name, for acquire()
  /// without a name. \param needs  the interfaces it may acquire: those of its plugin's needs. While a next
  /// table is open, the owner sees that one.
  OwnerId add_owner(std::string name, std::map<std::string, std::string> bindings,
                    std::set<std::string> needs);
  /// \returns the leases that the owner had left behind; they are given back for it.
  std::vector<Holding> remove_owner(OwnerId owner);

  /// Adds to the table that the owner sees.
  void publish(const Publication& publication);
  /// Takes an owner's services out of the serving table; it goes on counting who holds them.
  std::vector<ServiceChange> withdraw(OwnerId owner);

  /// Opens the next table: a copy of the serving one without the services of `leaving`.
  void open_next(const std::set<OwnerId>& leaving);
  /// The next table becomes the serving one; services of owners that are not in it are withdrawn.
  std::vector<ServiceChange> commit_next();
  /// Forgets the next table; its owners are withdrawn and see the serving table.
  void abandon_next();

  std::vector<Holding> holders_of(OwnerId owner) const;  ///< [any]
  size_t services() const;                               ///< [any] in the serving table
  size_t leases() const;                                 ///< [any]

  Result<ServiceLease> acquire(OwnerId holder, std::string_view interface_id,
                               std::string_view instance);                             ///< [any]
  void release(uint64_t token);                                                        ///< [any]
  std::vector<ServiceInfo> list(OwnerId viewer, std::string_view interface_id) const;  ///< [any]

 private:
  using Key = std::pair<std::string, std::string>;  // interface id, instance
  using Table = std::map<Key, Publication>;
  struct Owner {
    std::string name;
    std::map<std::string, std::string> bindings;
    std::set<std::string> needs;
    bool sees_next = false;
    bool withdrawn = false;
    uint32_t held = 0;  // leases on its services
  };
  struct Lease {
    OwnerId holder = 0;
    OwnerId provider = 0;
    std::string interface_id;
  };

  const Table& table_for(const Owner& owner) const { return owner.sees_next && next_ ? *next_ : serving_; }
  Result<const Publication*> choose(const Owner& owner, std::string_view interface_id,
                                    std::string_view instance) const;
  Status none_found(const Table& table, std::string_view interface_id, std::string_view instance) const;
  bool give_back(std::map<uint64_t, Lease>::iterator lease);

  const std::function<void()> on_idle_;
  mutable std::mutex mutex_;  // guards everything below
  Table serving_;
  std::unique_ptr<Table> next_;
  std::map<OwnerId, Owner> owners_;
  std::map<uint64_t, Lease> leases_;
  OwnerId next_owner_ = 1;
  uint64_t next_token_ = 1;
};

/// The registry as one plugin instance sees it. [any]
class InstanceRegistry final : public Registry {
 public:
  explicit InstanceRegistry(ServiceRegistry& registry) : registry_(registry) {}
  void set_owner(OwnerId owner) { owner_ = owner; }
  OwnerId owner() const { return owner_; }
  Result<ServiceLease> acquire(std::string_view interface_id, std::string_view instance) noexcept override {
    return registry_.acquire(owner_, interface_id, instance);
  }
  void release(uint64_t token) noexcept override { registry_.release(token); }
  std::vector<ServiceInfo> list(std::string_view interface_id) const noexcept override {
    return registry_.list(owner_, interface_id);
  }

 private:
  ServiceRegistry& registry_;
  OwnerId owner_ = 0;
};

/// "grpc (atoll.model_catalog/1), models (2 x atoll.backend/1)"
std::string holdings_text(const std::vector<Holding>& holdings);

}  // namespace atl::kernel
