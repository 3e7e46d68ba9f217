/// GET /v2/console/timeline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "frontends/console/process_facts.h"
#include "frontends/console/timeline/timeline_ring.h"

namespace atl::frontends::console {

/// Which entries are asked for.
struct TimelineQuery {
  uint64_t since = 0;  ///< only entries with a larger number
  uint64_t limit = TimelineRing::kEntries;

  /// Reads "since=12&limit=100", whose parts may both be missing.
  /// Errors: INVALID_ARGUMENT an unknown part, no number where one belongs.
  static Result<TimelineQuery> parse(std::string_view text);
};

/// \param identity  null: all entries may be seen; who sees some models sees what happened to those
std::string timeline_json(const TimelineEntries& entries, const TimelineQuery& query,
                          const ProcessStart& start, int64_t now_ms, const Identity* identity);

}  // namespace atl::frontends::console
