/// Answers of a cluster that are no success.
#pragma once

#include <cstdint>

#include "atoll/core/status.h"
#include "atoll/lib/http_request.h"

namespace atl::launchers {

inline constexpr int kHttpUnauthorized = 401, kHttpNotFound = 404, kHttpConflict = 409, kHttpGone = 410;

struct ApiRefusal {
  /// What it means for a server that was asked for: RESOURCE_EXHAUSTED there is no room now; INVALID_ARGUMENT there never will be;
  /// UNAVAILABLE the cluster does not answer as it should.
  Status status;
  /// The same may succeed later.
  bool passes = false;
  int64_t retry_after_ns = 0;  ///< what the cluster asks for; 0: nothing
};

/// Of an answer whose status is not 2xx. Its headers are those of kRetryAfter.
ApiRefusal read_refusal(const HttpAnswer& answer);
inline constexpr const char* kRetryAfter = "Retry-After";

inline bool is_success(const HttpAnswer& answer) { return answer.status >= 200 && answer.status < 300; }

/// How long to wait before the next try. \param failures  in a row, at least 1 \param asked_ns  by the cluster; 0: nothing
/// \param random  any number: those that fail together do not come back together
int64_t retry_pause_ns(uint32_t failures, int64_t asked_ns, uint64_t random);

}  // namespace atl::launchers
