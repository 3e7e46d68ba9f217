/// Whose turn it is: weighted fair queueing of tenants by the time that their requests run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "admission/quotas/tenant.h"

namespace atl::quotas {

/// Start-time fair queueing. A tenant has a tag, the virtual time at which its next turn begins; the smallest
/// one is next, and a turn moves the tag on by the time that the request is expected to run, over the weight.
/// When it ends the tag is put right by what it really took. Whoever could not use a turn, having nothing to
/// run or being at its own limit, begins anew at the current virtual time: nothing is saved up, and nothing
/// is held against it. Not thread safe.
class FairTurns {
 public:
  /// The tenant's requests or its limit have changed.
  void update(Tenant& tenant) noexcept {
    const bool is_ready = !tenant.waiting.empty() && tenant.may_run();
    if (is_ready == tenant.ready) return;
    if (is_ready) {
      catch_up(tenant);
      ready_.insert({tenant.tag, &tenant});
    } else {
      ready_.erase({tenant.tag, &tenant});
    }
    tenant.ready = is_ready;
  }
  /// Null: nobody has a request that may run.
  Tenant* next() const noexcept { return ready_.empty() ? nullptr : ready_.begin()->second; }

  /// A request of the tenant begins to run. \param expected_ns  how long it will
  void begin(Tenant& tenant, double expected_ns) noexcept {
    now_ = std::max(now_, tenant.tag);
    correct(tenant, expected_ns);
  }
  /// Nobody else's turn could have been before that of a request that has just come.
  void catch_up(Tenant& tenant) noexcept { tenant.tag = std::max(tenant.tag, now_); }
  /// It has run longer than expected, or shorter.
  void correct(Tenant& tenant, double by_ns) noexcept {
    if (tenant.ready) ready_.erase({tenant.tag, &tenant});
    tenant.tag += by_ns / tenant.quota.weight;
    if (tenant.ready) ready_.insert({tenant.tag, &tenant});
  }

 private:
  /// Ties go to the tenant of the smaller address: any order will do, if it is one.
  std::set<std::pair<double, Tenant*>> ready_;
  double now_ = 0;  ///< virtual time: where the last turn began
};

}  // namespace atl::quotas
