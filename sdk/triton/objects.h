/// What the handles of the backend API stand for, and whether they still do.
#pragma once

#include "atoll/request/request.h"
#include "atoll/triton/request.h"
#include "error.h"
#include "triton/core/tritonbackend.h"

namespace atl::triton {

/// Null: the request is no longer the caller's, or the handle is null.
inline Request* object(const TRITONBACKEND_Request* request) noexcept {
  return request == nullptr ? nullptr : request->request.load(std::memory_order_acquire);
}
inline const InputTensor* object(const TRITONBACKEND_Input* input) noexcept {
  return input == nullptr ? nullptr : input->tensor.load(std::memory_order_acquire);
}

/// Why a call is refused whose handle has no object, or one of whose other arguments is null.
/// \param what  the handle stands for: "request"
inline TRITONSERVER_Error* refuse(const char* function, const char* what, const void* handle,
                                  bool has_null_argument) noexcept {
  if (handle == nullptr || has_null_argument) return null_argument(function);
  return invalid_argument(function, ": the ", what,
                          " is no longer the caller's: it was given away or deleted");
}

/// Names and ids of requests end in NUL, except where there is none.
inline const char* c_text(std::string_view text) noexcept { return text.empty() ? "" : text.data(); }

/// For out parameters that may be null.
template <class To, class From>
void set(To* to, const From& value) noexcept {
  if (to != nullptr) *to = static_cast<To>(value);
}

}  // namespace atl::triton
