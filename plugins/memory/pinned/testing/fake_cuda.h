/// GPUs whose driver only pins memory, for unit tests.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "atoll/gpu/cuda.h"

namespace atl::memory {

/// One at a time, because functions of the driver know no object.
class FakeCuda final : public Cuda {
 public:
  explicit FakeCuda(int32_t devices = 1) : infos_(static_cast<size_t>(devices)), lost_(infos_.size()) {
    for (size_t i = 0; i < infos_.size(); ++i) infos_[i].ordinal = static_cast<int32_t>(i);
    functions_.cuMemHostAlloc = [](void** address, size_t bytes, uint32_t flags) {
      ++counts().allocated;
      if (flags != kCudaHostPortable) return CudaResult::INVALID_VALUE;
      *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
      return CudaResult::SUCCESS;
    };
    functions_.cuMemFreeHost = [](void* address) {
      ++counts().freed;
      std::free(address);
      return CudaResult::SUCCESS;
    };
    counts() = {};
  }

  struct Counts {
    uint32_t made_current = 0;
    uint32_t allocated = 0;
    uint32_t freed = 0;
  };
  static Counts& counts() noexcept {
    static Counts counts;
    return counts;
  }
  CudaDriver& functions() noexcept { return functions_; }
  void lose(size_t device) { lost_[device] = true; }

  std::span<const CudaDeviceInfo> devices() const noexcept override { return infos_; }
  Status absence() const noexcept override {
    return infos_.empty() ? unavailable("there is no CUDA driver") : Status();
  }
  const CudaDriver& driver() const noexcept override { return functions_; }
  Status ensure_current(int32_t device) noexcept override {
    ++counts().made_current;
    return lost(device);
  }
  Result<CudaContext> context(int32_t) noexcept override { return unimplemented("no contexts"); }
  Status lost(int32_t device) const noexcept override {
    return lost_[static_cast<size_t>(device)] ? unavailable("GPU ", device, " is lost") : Status();
  }
  Status report(int32_t device, const char* call, CudaResult result) noexcept override {
    return internal_error("GPU ", device, ": ", call, " gave ", cuda_result_name(result));
  }
  Result<CudaStream> acquire_stream(int32_t) noexcept override { return unimplemented("no streams"); }
  void release_stream(int32_t, CudaStream) noexcept override {}
  Result<CudaEvent> acquire_event(int32_t) noexcept override { return unimplemented("no events"); }
  void release_event(int32_t, CudaEvent) noexcept override {}
  Status post_when_done(int32_t, CudaEvent, CudaDone) noexcept override { return unimplemented("no events"); }

 private:
  CudaDriver functions_;
  std::vector<CudaDeviceInfo> infos_;
  std::vector<bool> lost_;
};

}  // namespace atl::memory
