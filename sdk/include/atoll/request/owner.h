/// Whose sequences a request's are. Where callers are known (atoll/frontend/access.h) a correlation id is its tenant's:
/// the same id of two tenants names two sequences, and that of another tenant is unknown.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/request/request.h"

namespace atl {

/// In Request::call_flags, beside CallFlags: access control knows the caller, so that tenant and caller are what it has
/// found out, and not what a client has written. Set by frontends; requests that are made for another one have it too.
inline constexpr uint32_t kCallerIsKnown = 1u << 30;

/// The tenant, or the caller that has none. Empty: nobody's, as callers are not known. Valid as long as the request.
inline std::string_view owner_of(const Request& request) noexcept {
  if ((request.call_flags & kCallerIsKnown) == 0) return {};
  return request.tenant.empty() ? request.caller : request.tenant;
}

}  // namespace atl
