/// A provider of "atoll.cuda/1" that has devices and nothing else.
#pragma once

#include <utility>
#include <vector>

#include "atoll/gpu/cuda.h"

namespace atl::test {

class ListedGpus final : public Cuda {
 public:
  explicit ListedGpus(std::vector<CudaDeviceInfo> devices) : devices_(std::move(devices)) {}
  virtual ~ListedGpus() = default;

  std::span<const CudaDeviceInfo> devices() const noexcept override { return devices_; }
  Status absence() const noexcept override {
    return devices_.empty() ? not_found("there is no driver") : Status();
  }
  const CudaDriver& driver() const noexcept override { return driver_; }
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
  static Status none() { return unavailable("these GPUs are a list"); }

  std::vector<CudaDeviceInfo> devices_;
  CudaDriver driver_;
};

}  // namespace atl::test
