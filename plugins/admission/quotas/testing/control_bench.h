/// The policy alone, with requests that are only what it looks at.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/quotas/admission_control.h"

namespace atl::quotas {

inline Quota quota(std::string_view text) { return parse_quota("test", text).value(); }

inline AdmissionSettings settings_with(const std::vector<std::string>& tenants,
                                       std::string_view others = "") {
  AdmissionSettings settings;
  settings.tenants.named = parse_tenants(tenants).value();
  settings.tenants.others = quota(others);
  return settings;
}

struct ControlBench {
  using Arrival = AdmissionControl::Arrival;

  explicit ControlBench(AdmissionSettings settings) : control(std::move(settings)) {}

  struct Sent {
    Waiter& waiter;
    Arrival arrival;
  };
  /// \param within_ns  the deadline, from now; 0: none
  Sent send(std::string_view tenant, uint64_t priority = 1, int64_t within_ns = 0) {
    Waiter& waiter = waiters.emplace_back();
    waiter.priority = priority;
    if (within_ns != 0) waiter.deadline_ns = now_ns + within_ns;
    DecidedList list;
    const Arrival arrival = control.arrive(waiter, tenant, now_ns, &list);
    take(list);
    return {waiter, arrival};
  }
  Arrival arrive(std::string_view tenant, uint64_t priority = 1, int64_t within_ns = 0) {
    return send(tenant, priority, within_ns).arrival;
  }
  void end(Waiter& waiter) {
    DecidedList list;
    control.ended(*waiter.tenant, waiter.admitted_ns, waiter.expected_ns, now_ns, &list);
    take(list);
  }
  void cancel(Waiter& waiter) {
    DecidedList list;
    control.cancel(waiter, now_ns, &list);
    take(list);
  }
  void expire() {
    DecidedList list;
    control.expire(now_ns, &list);
    take(list);
  }
  /// Those that were decided after a wait, in order; they are resumed at once.
  void take(DecidedList& list) {
    while (Waiter* waiter = list.pop_front()) {
      decided.push_back(waiter);
      control.resumed(*waiter->tenant);
    }
  }

  AdmissionControl control;
  std::deque<Waiter> waiters;
  std::vector<Waiter*> decided;
  int64_t now_ns = kNsPerSecond;
};

}  // namespace atl::quotas
