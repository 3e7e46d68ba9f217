/// GET /v2/console/traces: the slowest traces, or one with its spans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/request/trace_log.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// Which traces are asked for.
struct TracesQuery {
  std::optional<uint64_t> id;  ///< one trace, with its spans
  std::string model;           ///< those of one model; empty: of all
  uint64_t limit = TraceLog::kMost;

  /// Reads "model=a%20b&limit=20", whose parts may both be missing, or "id=7".
  /// Errors: INVALID_ARGUMENT an unknown part, no number where one belongs, an id beside something else.
  static Result<TracesQuery> parse(std::string_view text);
};

/// \param why  there are none, in words; left out where there are some
/// \param identity  null: all may be seen; who sees some models sees the traces of those
std::string traces_json(const std::vector<TraceSummary>& traces, const TracesQuery& query,
                        std::string_view why, bool is_active, const ProcessStart& start, int64_t now_ms,
                        const Identity* identity);
/// \param identity  null: all names of models may be seen; spans of others have none
std::string trace_json(const FinishedTrace& trace, const ProcessStart& start, const Identity* identity);

/// Answers the call. Whoever calls has been let in. [worker]
void answer_traces(Host& host, HttpExchange& exchange, const TracesQuery& query, const ProcessStart& start);

}  // namespace atl::frontends::console
