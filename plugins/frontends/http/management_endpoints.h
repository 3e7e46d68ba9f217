/// The calls that are not inference and are answered at once: from path and body to the reply's JSON.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "frontends/common/management/management.h"
#include "frontends/http/route_table.h"

namespace atl::frontends::http {

/// Whether the call is answered later: index, load, unload.
bool answers_later(Endpoint endpoint) noexcept;
/// Whether the call is answered while the instance drains.
bool is_health(Endpoint endpoint) noexcept;

/// \param method  "GET" or "POST", as the route allows
/// \param body    read by calls that take one
/// \returns the reply's body, empty for calls that only succeed
/// Errors: those of the call; INVALID_ARGUMENT without a text: not live, not ready.
Result<std::string> answer_management(ServerAccess& server, const Identity* caller, const Route& route,
                                      std::string_view method, std::string_view body) noexcept;

}  // namespace atl::frontends::http
