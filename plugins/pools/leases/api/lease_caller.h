/// Who makes a call about pools and leases.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "pools/leases/book/pool_manager.h"

namespace atl::pools {

inline constexpr std::string_view kPoolCategory = "pools.pool", kLeaseCategory = "pools.lease";

/// What the calls of somebody may be about, who may use some models only. [until the exchange is ended]
class LeaseCaller {
 public:
  /// \param identity  null: callers are not known, and all is allowed
  explicit LeaseCaller(const Identity* identity) noexcept : identity_(identity) {}

  /// Whose leases and names the call sees and makes; empty: nobody's.
  std::string_view owner() const noexcept { return owner_of(identity_); }
  /// Pools are for all models. Errors: PERMISSION_DENIED
  Status may_use_pools() const noexcept {
    if (identity_ == nullptr || identity_->may_all(ApiCategory::kOther, kPoolCategory)) return {};
    return make_status(Code::kPermissionDenied, "calls about pools need '", kPoolCategory,
                       "' for all models");
  }
  /// Errors: PERMISSION_DENIED, which names the first model that the caller may not lease.
  Status may_lease(const LeaseDefinition& lease) const noexcept {
    const auto denied = first_denied(lease);
    if (denied == lease.models.end()) return {};
    return make_status(Code::kPermissionDenied, "the caller may not lease the model '", denied->name, "'");
  }
  /// Otherwise there is no such lease for this caller.
  bool sees(const Lease& lease) const noexcept {
    const LeaseDefinition& definition = lease.record.definition;
    return definition.owner == owner() && first_denied(definition) == definition.models.end();
  }
  /// Null: there is none.
  const Lease* find(const PoolBook& book, std::string_view id) const {
    const Lease* const lease = book.leases.find(id);
    return lease == nullptr || !sees(*lease) ? nullptr : lease;
  }
  /// There is such a lease, and not for this caller.
  bool is_hidden(const PoolBook& book, std::string_view id) const {
    return book.leases.find(id) != nullptr && find(book, id) == nullptr;
  }
  /// In the order of their creation. \param pool  empty: of all
  std::vector<const Lease*> list(const PoolBook& book, std::string_view pool) const {
    std::vector<const Lease*> leases = book.leases.of_pool(pool);
    std::erase_if(leases, [this](const Lease* lease) { return !sees(*lease); });
    return leases;
  }

 private:
  std::vector<LeaseModel>::const_iterator first_denied(const LeaseDefinition& lease) const noexcept {
    return std::ranges::find_if(lease.models, [&](const LeaseModel& model) {
      return identity_ != nullptr && !identity_->may(ApiCategory::kOther, kLeaseCategory, model.name);
    });
  }

  const Identity* identity_;
};

}  // namespace atl::pools
