/// An ONNX Runtime that is opened, and asked whether the plugin can use it.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/runtime/shared_object.h"
#include "onnxruntime_c_api.h"

namespace atl::ort {

/// Closed with this object.
struct OpenLibrary {
  runtime::SharedObject object;
  const OrtApi* api = nullptr;
  std::string file;
  std::string version;  ///< "1.31.1"
};

/// How a user gets one that fits, as the end of a message.
std::string way_to_get_one();

/// Each release 1.N offers the API levels up to N, and the plugin uses that of the headers it was built with, so 1.21 or newer is
/// expected; no release has dropped a level yet.
/// Errors: FAILED_PRECONDITION, NOT_FOUND in one line: the file, what was found in it and what is expected. It is then
/// not open.
Result<OpenLibrary> open_library(const std::string& file) noexcept;

}  // namespace atl::ort
