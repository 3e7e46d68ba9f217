/// What may be done about requests that wait: POST /v2/console/waiting/cancel and /v2/console/waiting/drain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/host.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// The version that it is done to.
struct WaitingTarget {
  std::string model;
  uint64_t version = 0;
};

struct CancelQuery {
  WaitingTarget target;
  uint64_t priority = 0;  ///< 0: of all levels

  /// Reads "model=NAME&version=1&priority=2"; the priority may be missing.
  /// Errors: INVALID_ARGUMENT something else is missing or unknown, no number where one belongs.
  static Result<CancelQuery> parse(std::string_view text);
};

struct DrainQuery {
  WaitingTarget target;
  bool is_on = true;

  /// Reads "model=NAME&version=1&on=true", all of it.
  /// Errors: INVALID_ARGUMENT something is missing, unknown or not what is expected.
  static Result<DrainQuery> parse(std::string_view text);
};

/// Both answer the exchange, whose caller is known; one who may not act on the model is told what is told of a model that
/// there is not. [any]
void cancel_waiting(Host& host, HttpExchange& exchange, const CancelQuery& query, const ProcessStart& start);
void drain_model(Host& host, HttpExchange& exchange, const DrainQuery& query, const ProcessStart& start);

}  // namespace atl::frontends::console
