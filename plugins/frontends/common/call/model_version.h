/// Model versions as clients write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::frontends {

/// Empty: ModelCatalog::kLatest. Else a decimal number as strtol reads it: leading blanks and a sign are
/// allowed and what follows the digits is ignored ("1x" is 1), because clients rely on it.
/// Errors: INVALID_ARGUMENT no number or out of range, negative.
Result<int64_t> parse_model_version(std::string_view text) noexcept;

}  // namespace atl::frontends
