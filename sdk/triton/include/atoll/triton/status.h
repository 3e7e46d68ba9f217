/// Between errors of the C API and Status.
#pragma once

#include <exception>
#include <string>

#include "atoll/core/status.h"
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

/// The code of the C API that a caller would act on in the same way.
inline TRITONSERVER_Error_Code error_code_of(Code code) noexcept {
  switch (code) {
    case Code::kCancelled:
      return TRITONSERVER_ERROR_CANCELLED;
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return TRITONSERVER_ERROR_INVALID_ARG;
    case Code::kNotFound:
      return TRITONSERVER_ERROR_NOT_FOUND;
    case Code::kAlreadyExists:
      return TRITONSERVER_ERROR_ALREADY_EXISTS;
    case Code::kUnimplemented:
      return TRITONSERVER_ERROR_UNSUPPORTED;
    case Code::kInternal:
    case Code::kDataLoss:
      return TRITONSERVER_ERROR_INTERNAL;
    case Code::kUnavailable:
    case Code::kResourceExhausted:
    case Code::kDeadlineExceeded:
    case Code::kFailedPrecondition:
    case Code::kAborted:
      return TRITONSERVER_ERROR_UNAVAILABLE;
    case Code::kOk:
    case Code::kUnknown:
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      break;
  }
  return TRITONSERVER_ERROR_UNKNOWN;
}

/// A new error, which the caller owns, with the message that clients get; null for success.
inline TRITONSERVER_Error* to_error(const Status& status) {
  if (status.ok()) return nullptr;
  return TRITONSERVER_ErrorNew(error_code_of(status.code()), std::string(status.message()).c_str());
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
