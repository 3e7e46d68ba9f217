/// Whether the tests run under a sanitizer.
#pragma once

#include <string_view>

#include "atoll/abi/plugin.h"

namespace atl::test {

/// Everything takes several times as long then, and figures of memory are the sanitizer's.
inline constexpr bool kSanitized = std::string_view(ATOLL_TAG_SANITIZER) != "none";

}  // namespace atl::test
