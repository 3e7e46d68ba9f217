/// Which web pages may change what the server has.
#pragma once

#include <string_view>

#include "atoll/frontend/access.h"
#include "frontends/common/http/cors.h"
#include "frontends/common/http/request_head.h"

namespace atl::frontends::http {

/// A browser lets each page that somebody looks at send requests to any address, those of the browser's own machine included,
/// and only keeps the answers from the page. A call that changes something (load, unload, shared memory, settings of the log
/// and of traces) is therefore refused if a page of another origin makes it that cors_allowed_origins does not name. Programs
/// other than browsers send no `Origin`, and nothing is asked of them.
/// \param is_loopback  the server listens for this machine alone
/// \returns why the request is refused, a constant text; empty: it is not
std::string_view page_refusal(const RequestHead& head, ApiCategory category, const CorsPolicy& cors,
                              bool is_loopback) noexcept;

}  // namespace atl::frontends::http
