/// ONNX Runtime's C API with owning handles and Status instead of raw pointers and OrtStatus.
///
/// The C API is used, not the C++ one on top of it: it throws nothing, and its header runs no code when the
/// plugin is mapped.
#pragma once

#include <memory>
#include <string>

#include "atoll/core/status.h"
#include "onnxruntime_c_api.h"

namespace atl::ort {

/// The function table of the library that is in use. Only while a OrtLibrary lives (library/library_use.h). [any]
const OrtApi& api() noexcept;

/// Whether a library is in use. [any]
/// Errors: FAILED_PRECONDITION none is.
Status runtime_usable() noexcept;

/// Takes over an OrtStatus. The message becomes one line of bounded length.
Status check(OrtStatus* failure) noexcept;

struct Release {
  void operator()(OrtCUDAProviderOptionsV2* options) const noexcept {
    api().ReleaseCUDAProviderOptions(options);
  }
  void operator()(OrtEnv* env) const noexcept { api().ReleaseEnv(env); }
  void operator()(OrtIoBinding* binding) const noexcept { api().ReleaseIoBinding(binding); }
  void operator()(OrtMemoryInfo* info) const noexcept { api().ReleaseMemoryInfo(info); }
  void operator()(OrtRunOptions* options) const noexcept { api().ReleaseRunOptions(options); }
  void operator()(OrtSession* session) const noexcept { api().ReleaseSession(session); }
  void operator()(OrtSessionOptions* options) const noexcept { api().ReleaseSessionOptions(options); }
  void operator()(OrtTensorRTProviderOptionsV2* options) const noexcept {
    api().ReleaseTensorRTProviderOptions(options);
  }
  void operator()(OrtTensorTypeAndShapeInfo* info) const noexcept {
    api().ReleaseTensorTypeAndShapeInfo(info);
  }
  void operator()(OrtTypeInfo* info) const noexcept { api().ReleaseTypeInfo(info); }
  void operator()(OrtValue* value) const noexcept { api().ReleaseValue(value); }
};
template <class T>
using Handle = std::unique_ptr<T, Release>;

/// Calls an API function whose last parameter is the address of the pointer to make.
template <class T, class Function, class... Args>
Status make(Handle<T>& out, Function function, Args... args) noexcept {
  T* raw = nullptr;
  Status status = check(function(args..., &raw));
  out.reset(raw);
  return status;
}

}  // namespace atl::ort
