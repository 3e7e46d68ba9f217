/// What a contributed HTTP call has from its head.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/models/model_identifier.h"
#include "frontends/common/call/tenant_header.h"

namespace atl::frontends {

/// The head can be read only before a call is handed to another thread.
struct CallOrigin {
  std::string tenant, traceparent, tracestate;
  ApiCategory category = ApiCategory::kOther;
  std::string_view category_name{};    ///< of the route
  const Identity* identity = nullptr;  ///< until the exchange is ended; null: there are none

  /// Whether the caller may use the model. \param model  its own name, not an alias
  bool may_use(std::string_view model) const noexcept {
    return identity == nullptr || identity->may(category, category_name, model_name_of(model));
  }
};

/// [request, in HttpRoutes::handle()]
/// \param category  of the route; outlives the result
/// Errors: INVALID_ARGUMENT the tenant is given twice, or the body has a Content-Encoding.
Result<CallOrigin> read_origin(const HttpExchange& exchange, const TenantHeader& tenant,
                               std::string_view category);

}  // namespace atl::frontends
