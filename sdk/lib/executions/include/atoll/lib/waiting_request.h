/// A request, as admission by deadlines sees it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "atoll/core/clock.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/request.h"

namespace atl {

/// The client's own deadline is the earlier of the one that the frontend knows and the end of the time that
/// the request's `timeout` gives.
inline WaitingRequest waiting_request(const Request& request, int64_t now_ns) noexcept {
  WaitingRequest waiting;
  waiting.since_ns = request.times.start_ns != 0 ? request.times.start_ns : now_ns;
  waiting.deadline_ns = request.times.deadline_ns;
  waiting.weight = request.batch_weight();
  const uint64_t most_us = static_cast<uint64_t>(INT64_MAX - waiting.since_ns) / kNsPerUs;
  if (request.timeout_us == 0 || request.timeout_us >= most_us) return waiting;
  const int64_t timeout_ns = waiting.since_ns + static_cast<int64_t>(request.timeout_us) * kNsPerUs;
  waiting.deadline_ns = waiting.deadline_ns == 0 ? timeout_ns : std::min(waiting.deadline_ns, timeout_ns);
  return waiting;
}

}  // namespace atl
