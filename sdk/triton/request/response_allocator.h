/// Who gives memory for a program's outputs.
#pragma once

#include "triton/core/tritonserver.h"

struct TRITONSERVER_ResponseAllocator {
  TRITONSERVER_ResponseAllocatorAllocFn_t allocate;
  TRITONSERVER_ResponseAllocatorReleaseFn_t release;
  TRITONSERVER_ResponseAllocatorStartFn_t start;                                ///< null: not told
  TRITONSERVER_ResponseAllocatorQueryFn_t query = nullptr;                      ///< null: it cannot say
  TRITONSERVER_ResponseAllocatorBufferAttributesFn_t add_attributes = nullptr;  ///< null: it has none
};
