/// GPUs of which nothing can be had but their list.
#pragma once

#include <cstdlib>
#include <span>
#include <vector>

#include "atoll/cuda.h"

namespace atl::ort::test {

class FakeCuda final : public Cuda {
 public:
  explicit FakeCuda(int32_t devices) {
    for (int32_t i = 0; i < devices; ++i) infos_.emplace_back().ordinal = i;
  }
  virtual ~FakeCuda() = default;
  std::span<const CudaDeviceInfo> devices() const noexcept override { return infos_; }
  Status absence() const noexcept override {
    return infos_.empty() ? not_found("there is no driver") : Status();
  }
  const CudaDriver& driver() const noexcept override { std::abort(); }
  Status ensure_current(int32_t) noexcept override { return none(); }
  Result<CudaContext> context(int32_t) noexcept override { return none(); }
  Status lost(int32_t) const noexcept override { return {}; }
  Status report(int32_t, const char*, CudaResult) noexcept override { return none(); }
  Result<CudaStream> acquire_stream(int32_t) noexcept override { return none(); }
  void release_stream(int32_t, CudaStream) noexcept override {}
  Result<CudaEvent> acquire_event(int32_t) noexcept override { return none(); }
  void release_event(int32_t, CudaEvent) noexcept override {}
  Status post_when_done(int32_t, CudaEvent, CudaDone) noexcept override { return none(); }

 private:
  static Status none() { return internal_error("these GPUs can not be used"); }
  std::vector<CudaDeviceInfo> infos_;
};

}  // namespace atl::ort::test
