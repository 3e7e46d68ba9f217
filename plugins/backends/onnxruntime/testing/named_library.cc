/// An ONNX Runtime of whatever version its file's name says, with a table of functions that are not there: libonnxruntime.so.1.19.2
/// offers the API levels up to 19.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "onnxruntime_c_api.h"

namespace {

const char* ORT_API_CALL version() noexcept {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&version), &info) == 0) return "";
  const char* const found = std::strstr(info.dli_fname, ".so.");
  return found == nullptr ? "" : found + std::strlen(".so.");
}

const OrtApi* ORT_API_CALL api(uint32_t level) noexcept {
  static const OrtApi table{};
  const char* const minor = std::strchr(version(), '.');
  return minor != nullptr && level <= std::strtoul(minor + 1, nullptr, 10) ? &table : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const OrtApiBase* ORT_API_CALL OrtGetApiBase() noexcept {
  static const OrtApiBase base{&api, &version};
  return &base;
}
