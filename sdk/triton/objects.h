/// The handles of the C API are the server's own objects: a TRITONBACKEND_Request* is an atl::Request*, a
/// TRITONBACKEND_Input* an atl::InputTensor*, a TRITONSERVER_BufferAttributes* an atl::Buffer*.
#pragma once

#include "atoll/request.h"
#include "triton/core/tritonbackend.h"

namespace atl::triton {

inline const Request& object(const TRITONBACKEND_Request* request) noexcept {
  return *reinterpret_cast<const Request*>(request);
}
inline const InputTensor& object(const TRITONBACKEND_Input* input) noexcept {
  return *reinterpret_cast<const InputTensor*>(input);
}
inline const Buffer& object(const TRITONSERVER_BufferAttributes* attributes) noexcept {
  return *reinterpret_cast<const Buffer*>(attributes);
}
// Only read through: the C API has no const handles.
inline TRITONBACKEND_Input* handle(const InputTensor& input) noexcept {
  return reinterpret_cast<TRITONBACKEND_Input*>(const_cast<InputTensor*>(&input));
}
inline TRITONSERVER_BufferAttributes* handle(const Buffer& buffer) noexcept {
  return reinterpret_cast<TRITONSERVER_BufferAttributes*>(const_cast<Buffer*>(&buffer));
}

/// Names and ids of requests end in NUL, except where there is none.
inline const char* c_text(std::string_view text) noexcept { return text.empty() ? "" : text.data(); }

}  // namespace atl::triton
