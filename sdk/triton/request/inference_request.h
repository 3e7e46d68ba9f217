/// Checks that every call on a program's request begins with.
#pragma once

#include "error.h"
#include "request/in_process_request.h"

namespace atl::triton {

/// Null: the program has the request.
inline TRITONSERVER_Error* check_request(const TRITONSERVER_InferenceRequest* request,
                                         const char* function) noexcept {
  if (request == nullptr) return null_argument(function);
  if (request->is_live.load(std::memory_order_acquire)) return nullptr;
  return invalid_argument(function, ": the request was deleted");
}

inline TRITONSERVER_Error* in_flight(const char* function) noexcept {
  return invalid_argument(function, ": the request is in flight");
}

/// Null: the program has the request, and may change it.
inline TRITONSERVER_Error* check_idle(const TRITONSERVER_InferenceRequest* request,
                                      const char* function) noexcept {
  if (TRITONSERVER_Error* error = check_request(request, function)) return error;
  return request->flight.load(std::memory_order_acquire) != nullptr ? in_flight(function) : nullptr;
}

}  // namespace atl::triton
