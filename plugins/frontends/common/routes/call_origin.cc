#include "frontends/common/routes/call_origin.h"

#include <utility>

#include "frontends/common/http/header_name.h"

namespace atl::frontends {

Result<CallOrigin> read_origin(const HttpExchange& exchange, const TenantHeader& tenant,
                               std::string_view category) {
  CallOrigin head;
  head.category_name = category;
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
    if (category == api_category_name(static_cast<ApiCategory>(i)))
      head.category = static_cast<ApiCategory>(i);
  }
  head.identity = exchange.identity();
  bool has_tenant = false;
  for (uint32_t i = 0; i < exchange.header_count(); ++i) {
    const HttpHeader header = exchange.header(i);
    if (tenant.active() && tenant.is(header.name)) {
      if (std::exchange(has_tenant, true)) return tenant.given_twice();
      head.tenant = header.value;
    } else if (is_named(header.name, "content-encoding") && header.value != "identity") {
      return invalid_argument("bodies with a Content-Encoding are not served: send the JSON as it is");
    } else if (is_named(header.name, "traceparent")) {
      head.traceparent = header.value;
    } else if (is_named(header.name, "tracestate")) {
      head.tracestate = header.value;
    }
  }
  if (head.identity != nullptr) head.tenant = head.identity->tenant();  // whatever the client says
  return head;
}

}  // namespace atl::frontends
