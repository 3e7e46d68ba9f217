/// Memory types that foreign code gives as any number.
#pragma once

#include "error.h"

namespace atl::triton {

constexpr bool is_memory_type(TRITONSERVER_MemoryType type) noexcept {
  return type >= TRITONSERVER_MEMORY_CPU && type <= TRITONSERVER_MEMORY_GPU;
}

inline TRITONSERVER_Error* unknown_memory_type(TRITONSERVER_MemoryType type) noexcept {
  return invalid_argument("memory type ", static_cast<int>(type), " is unknown");
}

}  // namespace atl::triton
