/// Errors of the C API.
#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/core/text.h"
#include "triton/core/tritonserver.h"

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  const char* message;
  /// Not allocated: an error that is expected again and again costs nothing.
  bool fixed;
};

namespace atl::triton {

/// Never null.
TRITONSERVER_Error* new_error(TRITONSERVER_Error_Code code, std::string_view message) noexcept;

/// Of a failure.
TRITONSERVER_Error* new_error(const Status& status) noexcept;

TRITONSERVER_Error* out_of_memory() noexcept;

/// \param function  whose argument it is.
TRITONSERVER_Error* null_argument(const char* function) noexcept;

template <class... Pointers>
bool any_null(const Pointers*... pointers) noexcept {
  return (... || (pointers == nullptr));
}

/// Runs what may throw, which then is an error: INTERNAL.
template <class Function>
TRITONSERVER_Error* guarded(Function&& function) noexcept {
  try {
    return std::forward<Function>(function)();
  } catch (const std::exception& exception) {
    return new_error(TRITONSERVER_ERROR_INTERNAL, exception.what());
  }
}

/// INVALID_ARG with a text made of the parts.
template <class... Parts>
TRITONSERVER_Error* invalid_argument(const Parts&... parts) noexcept {
  return guarded([&] { return new_error(TRITONSERVER_ERROR_INVALID_ARG, cat(parts...)); });
}

}  // namespace atl::triton
