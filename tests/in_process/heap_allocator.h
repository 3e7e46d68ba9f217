/// Memory of the heap for the outputs of responses: callbacks of a TRITONSERVER_ResponseAllocator.
#pragma once

#include <cstdlib>

#include "triton/core/tritonserver.h"

namespace atl::in_process {

inline TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator*, const char*, size_t size,
                                    TRITONSERVER_MemoryType, int64_t, void*, void** buffer, void**,
                                    TRITONSERVER_MemoryType* type, int64_t* id) {
  *buffer = size == 0 ? nullptr : std::malloc(size);
  *type = TRITONSERVER_MEMORY_CPU;
  *id = 0;
  return nullptr;
}
inline TRITONSERVER_Error* give_back(TRITONSERVER_ResponseAllocator*, void* buffer, void*, size_t,
                                     TRITONSERVER_MemoryType, int64_t) {
  std::free(buffer);
  return nullptr;
}

}  // namespace atl::in_process
