/// A call as a line of the audit log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/frontend/audit.h"

namespace atl::audit {

/// A text without what looks like a credential, 512 bytes of it at most.
std::string bounded(std::string_view text);

/// HTTP's method and path, or gRPC's path.
std::string call_name(const AuditedCall& call);

/// One JSON object and a line feed. Bytes that are no UTF-8 and control characters are escaped, texts of clients are
/// cut, and what looks like a credential is taken out of them.
/// \param wall_ns  since 1970, when the call had ended
std::string audit_line(const AuditedCall& call, int64_t wall_ns);

/// The line that says how many records were lost since the line before it.
std::string dropped_line(uint64_t count, int64_t wall_ns);

}  // namespace atl::audit
