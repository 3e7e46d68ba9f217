/// How a request gets a state as an input.
#pragma once

#include <algorithm>
#include <span>

#include "atoll/request/request.h"
#include "schedulers/common/state/state_layout.h"

namespace atl::schedulers {

/// Adds the input of a state, or replaces the one of its name. What is pointed to, but for the name and the bytes,
/// is in the request's arena. A request that comes back for the same state takes no more of it: it may come
/// back any number of times.
void set_state_input(Request& request, const StateTensor& tensor, std::span<const int64_t> shape,
                     const Buffer& value) noexcept;

}  // namespace atl::schedulers
