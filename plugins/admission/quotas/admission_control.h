/// Which requests run, which wait and which are refused: all of the policy, and neither time nor threads.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "admission/quotas/delay_monitor.h"
#include "admission/quotas/fair_turns.h"
#include "admission/quotas/tenant.h"
#include "admission/quotas/tenant_table.h"
#include "atoll/core/intrusive_list.h"

namespace atl::quotas {

struct AdmissionSettings {
  TenantSettings tenants;
  uint64_t concurrency = 0;      ///< requests that run at a time, of all tenants; 0: any number
  int64_t max_wait_ns = 0;       ///< 0: as long as it takes
  uint64_t in_flight_limit = 0;  ///< requests that run or wait; 0: any number
  int64_t queue_delay_ns = 0;    ///< target; 0: none
  int64_t queue_interval_ns = 0;
};

/// Requests that wait no longer, in the order in which they are to be resumed.
using DecidedList = IntrusiveList<Waiter>;

/// Not thread safe. Times are of one clock and do not go back.
class AdmissionControl {
 public:
  explicit AdmissionControl(AdmissionSettings settings);

  /// Other limits, for whoever waits, too. What runs and waits, and what is counted, stays.
  /// \param decided  gets waiting requests that may run now
  void follow(AdmissionSettings settings, int64_t now_ns, DecidedList* decided) noexcept;

  enum class Arrival { kAdmitted, kRefused, kWaits };
  /// \param waiter   with deadline and priority set; a waiting one may be in `decided` already
  /// \param decided  gets waiting requests that are decided by this
  Arrival arrive(Waiter& waiter, std::string_view tenant, int64_t now_ns, DecidedList* decided) noexcept;
  /// An admitted request has ended.
  void ended(Tenant& tenant, int64_t admitted_ns, int64_t expected_ns, int64_t now_ns,
             DecidedList* decided) noexcept;
  /// The client of a waiting request has gone.
  void cancel(Waiter& waiter, int64_t now_ns, DecidedList* decided) noexcept;
  /// Ends the waits that have been long enough.
  void expire(int64_t now_ns, DecidedList* decided) noexcept;
  /// When expire() has something to do; 0: never.
  int64_t next_expiry_ns() const noexcept {
    return by_expiry_.empty() ? 0 : (*by_expiry_.begin())->expires_ns;
  }
  /// A decided request was told, and what it set off has returned.
  void resumed(Tenant& tenant) noexcept { --tenant.resuming; }

  const AdmissionSettings& settings() const noexcept { return settings_; }
  const TenantTable& tenants() const noexcept { return tenants_; }
  bool overloaded() const noexcept { return monitor_.overloaded(); }
  uint64_t running() const noexcept { return running_; }
  uint64_t waiting() const noexcept { return waiting_; }

 private:
  /// \param wait_ns  after which it may be tried again; 0: that is to be found out
  Arrival refuse(Waiter& waiter, Refusal reason, int64_t wait_ns = 0) noexcept;
  bool make_room(Waiter& arriving, bool runs_at_once, int64_t now_ns, DecidedList* decided) noexcept;
  static Waiter* lower_of_tenant(const Waiter& arriving) noexcept;
  Waiter* victim(const Waiter& arriving, int64_t now_ns, bool held_up_only) const noexcept;
  /// The one to be shed first. \param held_up_only  not those that wait for their tenant's own limit
  Waiter* worst(int64_t now_ns, bool held_up_only) const noexcept;
  bool is_late(const Waiter& waiter, int64_t now_ns) const noexcept;
  bool has_slot() const noexcept { return settings_.concurrency == 0 || running_ < settings_.concurrency; }
  uint64_t in_flight_limit_of(uint64_t priority) const noexcept;
  /// Requests that get their turn within the target.
  uint64_t waiting_limit() const noexcept;
  bool is_crowded() const noexcept { return monitor_.overloaded() && held_up_ >= waiting_limit(); }
  void observe(int64_t now_ns) noexcept;
  void changed(Tenant& tenant) noexcept;
  double expected_ns(const Tenant& tenant) const noexcept;
  uint32_t retry_after_ms(const Waiter& waiter, Refusal reason) const noexcept;

  void admit(Waiter& waiter, int64_t now_ns) noexcept;
  void enqueue(Waiter& waiter, int64_t now_ns) noexcept;
  void dequeue(Waiter& waiter, int64_t now_ns) noexcept;
  void shed(Waiter& waiter, Refusal reason, int64_t now_ns, DecidedList* decided) noexcept;
  void grant(int64_t now_ns, DecidedList* decided) noexcept;

  AdmissionSettings settings_;
  TenantTable tenants_;
  FairTurns turns_;
  DelayMonitor monitor_;
  std::set<Waiter*, ByTurn> by_turn_;
  std::set<Waiter*, ByExpiry> by_expiry_;      ///< those that give up at some time
  std::set<Waiter*, ByDeadline> by_deadline_;  ///< those with a deadline
  uint64_t next_number_ = 0;
  uint64_t running_ = 0;
  uint64_t waiting_ = 0;
  uint64_t held_up_ = 0;            ///< sum over the tenants
  int64_t contended_since_ns_ = 0;  ///< somebody has been waiting all the time since
  double expected_ns_ = 0;          ///< mean time that requests run; 0: none has ended
};

}  // namespace atl::quotas
