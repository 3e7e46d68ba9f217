/// GET /v2/console/history.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "frontends/console/history/history_ring.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// Whose history is asked for.
struct HistoryQuery {
  std::string model;  ///< empty: the whole server's
  int64_t version = 0;

  /// Reads "model=a%20b&version=1", or nothing.
  /// Errors: INVALID_ARGUMENT an unknown part, no number as version, one of the two alone.
  static Result<HistoryQuery> parse(std::string_view text);
};

/// Of the whole server, with the models that had the most requests.
std::string history_json(const HistoryView& view, const ProcessStart& start);
/// Of one version; without points where the history has none of it.
std::string history_json(const HistoryView& view, const ProcessStart& start, std::string_view model,
                         int64_t version);

}  // namespace atl::frontends::console
