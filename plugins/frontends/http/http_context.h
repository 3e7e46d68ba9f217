/// What every call of this frontend may use. Lives from start to stop.
#pragma once

#include <memory>

#include "atoll/core/host.h"
#include "frontends/common/call/call_gate.h"
#include "frontends/common/call/large_work.h"
#include "frontends/common/management/management.h"
#include "frontends/http/contributed_routes.h"
#include "frontends/http/settings.h"
#include "frontends/http/slow_streams.h"

namespace atl::frontends::http {

struct HttpContext {
  Host& host;
  HttpSettings settings;
  ServerAccess server;
  CallGate& calls;
  std::unique_ptr<LargeWork> large_work = std::make_unique<LargeWork>();
  std::unique_ptr<SlowStreams> slow_streams = std::make_unique<SlowStreams>(host);
  std::unique_ptr<ContributedRoutes> routes = std::make_unique<ContributedRoutes>(host);
};

}  // namespace atl::frontends::http
