/// For the message about a duration or size that is too large: the largest that can be given.
#pragma once

#include <string_view>

#include "atoll/runtime/problems.h"

namespace atl::lib {

/// ", at most 2562047h" for a text that parse_duration_ns() has refused only because it is too long; else empty.
inline std::string_view duration_limit_text(std::string_view text) {
  return runtime::duration_limit_text(text);
}

/// ", at most 16777215TiB" for a text that parse_bytes() has refused only because it is too large; else empty.
inline std::string_view bytes_limit_text(std::string_view text) { return runtime::bytes_limit_text(text); }

}  // namespace atl::lib
