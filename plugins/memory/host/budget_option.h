/// The value of option request_budget.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::memory {

/// Bytes as a size ("4GiB"), or a whole percentage of what the process may use ("50%"); 0: no limit.
/// \param usable_bytes  0: not known, and a share of it is no limit
/// Errors: INVALID_ARGUMENT neither, or more than 100 %.
Result<uint64_t> budget_bytes(std::string_view text, uint64_t usable_bytes) noexcept;

}  // namespace atl::memory
