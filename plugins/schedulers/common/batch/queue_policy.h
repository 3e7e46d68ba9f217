/// How requests may wait for a model, as its configuration says it (ModelQueuePolicy, priority levels).
#pragma once

#include <cstdint>
#include <map>

#include "atoll/core/clock.h"
#include "atoll/request/request.h"

namespace atl::schedulers {

enum class TimeoutAction : uint8_t {
  kReject,  ///< the request is refused
  kDelay,   ///< it is served after everything of its level that has not expired
};

/// Of one priority level.
struct QueuePolicy {
  TimeoutAction timeout_action = TimeoutAction::kReject;
  bool allow_timeout_override = false;
  uint64_t default_timeout_us = 0;  ///< 0: requests wait for as long as it takes
  uint64_t max_queue_size = 0;      ///< requests; 0: any number

  /// How long a request may wait, in microseconds; 0: for ever. A request may shorten the default, where it
  /// is allowed to, and never lengthen it.
  uint64_t timeout_us(const Request& request) const noexcept {
    bool overrides = allow_timeout_override && request.timeout_us != 0;
    return overrides && request.timeout_us < default_timeout_us ? request.timeout_us : default_timeout_us;
  }
};

struct QueuePolicies {
  uint64_t priority_levels = 0;  ///< 0: one level, 0; n: the levels 1, which is served first, to n
  uint64_t default_priority_level = 0;
  QueuePolicy default_policy;
  std::map<uint64_t, QueuePolicy> by_level;
  uint64_t size_max = 0;  ///< requests of all levels together; 0: any number

  uint64_t level_of(const Request& request) const noexcept {
    if (priority_levels == 0) return 0;
    bool valid = request.priority != 0 && request.priority <= priority_levels;
    return valid ? request.priority : default_priority_level;
  }
  const QueuePolicy& policy_of(uint64_t level) const noexcept {
    auto own = by_level.find(level);
    return own == by_level.end() ? default_policy : own->second;
  }
};

}  // namespace atl::schedulers
