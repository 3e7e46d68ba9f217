/// How much memory a file may take.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::model_keys {

/// The bytes that the machine has left, by the text of /proc/meminfo. UINT64_MAX: it does not say.
uint64_t available_memory(std::string_view meminfo) noexcept;

/// The bound of a control group, by the text of its memory.max. UINT64_MAX: none.
uint64_t group_memory(std::string_view memory_max) noexcept;

/// Whether the machine, and the control group of a container, has as much, so that a file that is too large is refused before the
/// kernel ends a process for it. What is there may be taken by somebody else before it is used.
/// Errors: RESOURCE_EXHAUSTED with both numbers.
Status check_memory_room(uint64_t bytes) noexcept;

}  // namespace atl::model_keys
