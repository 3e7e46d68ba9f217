/// How often frontends look at the callers of calls that are open.
#pragma once

#include <cstdint>

#include "atoll/core/clock.h"

namespace atl::frontends {

/// Between two looks whether callers still may have what they have open and say nothing on. A call that begins, and a message of a
/// stream, is looked at when it comes.
inline constexpr int64_t kCallerLookNs = kNsPerSecond;

// docs/security.md promises that a permission ends within 2 s. Sources of identities have one of them, to see that their file has
// changed (see security/keys/token_source_test.cc), and frontends the other one.
static_assert(kCallerLookNs <= kNsPerSecond);

}  // namespace atl::frontends
