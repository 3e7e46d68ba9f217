/// One GPU of the driver's test double, for unit tests of what is done with code: no streams, no events.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "atoll/core/text.h"
#include "atoll/gpu/cuda.h"
#include "atoll/testing/gpu/cuda_double.h"

namespace atl::test {

/// A driver as it is in a new process. One at a time. At its end everything has been given back, and nothing was used
/// wrongly, or the test fails.
class CodeDevice final : public Cuda {
 public:
  explicit CodeDevice(const char* compute_capability = "9.0", const char* driver_version = "13000") {
    setenv("ATOLL_CUDA_DOUBLE_DEVICES", "1", 1);
    setenv("ATOLL_CUDA_DOUBLE_COMPUTE_CAPABILITY", compute_capability, 1);
    setenv("ATOLL_CUDA_DOUBLE_DRIVER", driver_version, 1);
    scripted().start_over();
    void* library = dlopen(ATOLL_CUDA_DOUBLE_PATH, RTLD_NOW | RTLD_LOCAL);
    const auto start = reinterpret_cast<CudaInitFunction>(dlsym(library, kCudaInitSymbol));
    const auto symbol = reinterpret_cast<CudaSymbolFunction>(dlsym(library, kCudaSymbolSymbol));
    EXPECT_EQ(start(0), CudaResult::SUCCESS);
#define ATOLL_CUDA_FIND(name, version, need, parameters)                                        \
  {                                                                                             \
    CudaSymbolState state = CudaSymbolState::kNotFound;                                         \
    symbol(#name, reinterpret_cast<void**>(&driver_.name), version, kCudaLegacyStream, &state); \
  }
    ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_FIND)
#undef ATOLL_CUDA_FIND
    const std::string capability = compute_capability;
    info_.capability =
        10 * std::atoi(capability.c_str()) + std::atoi(capability.substr(capability.find('.') + 1).c_str());
    EXPECT_EQ(driver_.cuDevicePrimaryCtxRetain(&context_, 0), CudaResult::SUCCESS);
  }
  CodeDevice(const CodeDevice&) = delete;
  CodeDevice& operator=(const CodeDevice&) = delete;
  ~CodeDevice() {
    scripted().end_failures();
    driver_.cuCtxSetCurrent(nullptr);
    driver_.cuDevicePrimaryCtxRelease(0);
    EXPECT_EQ(report_of(scripted()), "");
  }

  static const CudaDouble& scripted() {
    static const CudaDouble* const found = cuda_double(ATOLL_CUDA_DOUBLE_PATH);
    if (found == nullptr) std::abort();
    return *found;
  }
  /// For what older drivers have not.
  CudaDriver& functions() noexcept { return driver_; }
  void lose() noexcept { is_lost_ = true; }
  void find_again() noexcept { is_lost_ = false; }

  std::span<const CudaDeviceInfo> devices() const noexcept override { return {&info_, 1}; }
  Status absence() const noexcept override { return {}; }
  const CudaDriver& driver() const noexcept override { return driver_; }
  Status ensure_current(int32_t device) noexcept override {
    return call<&CudaDriver::cuCtxSetCurrent>(device, context_);
  }
  Result<CudaContext> context(int32_t /*device*/) noexcept override { return context_; }
  Status lost(int32_t /*device*/) const noexcept override {
    return is_lost_ ? unavailable("GPU 0 is lost") : Status();
  }
  Status report(int32_t device, const char* call, CudaResult result) noexcept override {
    const std::string what = cat("GPU ", device, ": ", call, " gave ", cuda_result_name(result));
    switch (cuda_fault(result)) {
      case CudaFault::kMemory:
        return make_status(Code::kResourceExhausted, what);
      case CudaFault::kDeviceLost:
        is_lost_ = true;
        return unavailable(what);
      default:
        return internal_error(what);
    }
  }
  Result<CudaStream> acquire_stream(int32_t /*device*/) noexcept override { return unimplemented("streams"); }
  void release_stream(int32_t /*device*/, CudaStream /*stream*/) noexcept override {}
  Result<CudaEvent> acquire_event(int32_t /*device*/) noexcept override { return unimplemented("events"); }
  void release_event(int32_t /*device*/, CudaEvent /*event*/) noexcept override {}
  Status post_when_done(int32_t /*device*/, CudaEvent /*event*/, CudaDone /*done*/) noexcept override {
    return unimplemented("events");
  }

 private:
  CudaDriver driver_;
  CudaDeviceInfo info_;
  CudaContext context_ = nullptr;
  bool is_lost_ = false;
};

}  // namespace atl::test
