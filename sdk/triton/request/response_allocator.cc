#include "request/response_allocator.h"

#include "error.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorNew(TRITONSERVER_ResponseAllocator** allocator,
                                                      TRITONSERVER_ResponseAllocatorAllocFn_t alloc_fn,
                                                      TRITONSERVER_ResponseAllocatorReleaseFn_t release_fn,
                                                      TRITONSERVER_ResponseAllocatorStartFn_t start_fn) {
  if (allocator == nullptr) return null_argument(__func__);
  *allocator = nullptr;
  if (alloc_fn == nullptr || release_fn == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    *allocator = new TRITONSERVER_ResponseAllocator{alloc_fn, release_fn, start_fn};
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(
    TRITONSERVER_ResponseAllocator* allocator,
    TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes_fn) {
  if (allocator == nullptr) return null_argument(__func__);
  allocator->add_attributes = buffer_attributes_fn;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetQueryFunction(
    TRITONSERVER_ResponseAllocator* allocator, TRITONSERVER_ResponseAllocatorQueryFn_t query_fn) {
  if (allocator == nullptr) return null_argument(__func__);
  allocator->query = query_fn;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorDelete(TRITONSERVER_ResponseAllocator* allocator) {
  if (allocator == nullptr) return null_argument(__func__);
  delete allocator;
  return nullptr;
}
