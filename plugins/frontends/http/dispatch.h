/// From a request's head to the call that answers it.
#pragma once

#include <string>
#include <vector>

#include "backplane.h"
#include "call.h"
#include "request_head.h"
#include "route_table.h"

namespace atl::frontends::http {

class ThreadContext;

/// What the head alone decides.
struct Verdict {
  int http_status = 0;    ///< 0: there is a call; else the answer
  std::string text;       ///< of the error
  std::string extra;      ///< header lines of the answer
  uint32_t category = 0;  ///< for RequestCounters
  Route route;            ///< views into the head or into names
  std::vector<char> names;
};

/// Restriction comes before method, method before everything else.
Verdict judge(const Settings& settings, const RequestHead& head);

/// The call for a route; it owns itself.
Call* make_call(ThreadContext& context, const Route& route);

}  // namespace atl::frontends::http
