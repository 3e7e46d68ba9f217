/// Between errors of the C API and Status.
#pragma once

#include <exception>

#include "atoll/status.h"
#include "triton/core/tritonserver.h"

namespace atl::triton {

/// Any number, as foreign code may give one that has no name.
inline Code code_of(TRITONSERVER_Error_Code code) noexcept {
  switch (code) {
    case TRITONSERVER_ERROR_INTERNAL:
      return Code::kInternal;
    case TRITONSERVER_ERROR_NOT_FOUND:
      return Code::kNotFound;
    case TRITONSERVER_ERROR_INVALID_ARG:
      return Code::kInvalidArgument;
    case TRITONSERVER_ERROR_UNAVAILABLE:
      return Code::kUnavailable;
    case TRITONSERVER_ERROR_UNSUPPORTED:
      return Code::kUnimplemented;
    case TRITONSERVER_ERROR_ALREADY_EXISTS:
      return Code::kAlreadyExists;
    case TRITONSERVER_ERROR_CANCELLED:
      return Code::kCancelled;
    case TRITONSERVER_ERROR_UNKNOWN:
      break;
  }
  return Code::kUnknown;
}

/// Takes the error over. Null is success.
inline Status take_error(TRITONSERVER_Error* error) {
  if (error == nullptr) return {};
  Status status(code_of(TRITONSERVER_ErrorCode(error)), TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  return status;
}

/// Calls a function of foreign code. What it throws is a failure: INTERNAL.
template <class... Parameters, class... Arguments>
Status call(TRITONSERVER_Error* (*function)(Parameters...), Arguments... arguments) noexcept {
  try {
    return take_error(function(arguments...));
  } catch (const std::exception& exception) {
    return internal_error("it threw an exception: ", exception.what());
  } catch (...) {
    return internal_error("it threw an exception");
  }
}

}  // namespace atl::triton
