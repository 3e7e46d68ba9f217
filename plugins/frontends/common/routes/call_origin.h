/// What a contributed HTTP call has from its head.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/common/call/tenant_header.h"

namespace atl::frontends {

/// The head can be read only before a call is handed to another thread.
struct CallOrigin {
  std::string tenant, traceparent, tracestate;
};

/// [request, in HttpRoutes::handle()] Errors: INVALID_ARGUMENT the tenant is given twice, or the body has a Content-Encoding.
Result<CallOrigin> read_origin(const HttpExchange& exchange, const TenantHeader& tenant);

}  // namespace atl::frontends
