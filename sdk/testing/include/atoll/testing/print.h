/// How GoogleTest prints the SDK's values where an expectation fails: NOT_FOUND instead of four bytes.
#pragma once

#include <ostream>

#include "atoll/core/status.h"

namespace atl {

inline void PrintTo(Code code, std::ostream* out) { *out << code_name(code); }

}  // namespace atl
