/// What a version has once on a device, for all its instances there.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backends/cuda/backend_context.h"
#include "backends/cuda/code/code.h"
#include "backends/cuda/pipeline/memory_block.h"
#include "backends/cuda/pipeline/model_plan.h"

namespace atl::cuda_backend {

/// Code and constants. Nothing of it runs any more when it ends. Reading is thread safe.
class DevicePart {
 public:
  /// The device is current afterwards. [control work]
  /// Errors: those of DeviceCode::load(); RESOURCE_EXHAUSTED no memory for the constants; UNAVAILABLE the device is lost.
  static Result<std::shared_ptr<DevicePart>> load(const CudaBackendContext& context, const ModelPlan& plan,
                                                  int32_t device) noexcept;
  DevicePart(const DevicePart&) = delete;
  DevicePart& operator=(const DevicePart&) = delete;

  Cuda& cuda() const noexcept { return *context_.cuda; }
  const CudaBackendContext& context() const noexcept { return context_; }
  int32_t device() const noexcept { return device_; }
  const DeviceCode& code() const noexcept { return code_; }
  CudaAddress constant(uint32_t index) const noexcept { return constants_[index].address(); }
  /// Memory of the device, which is counted as the version's. Errors: as MemoryBlock::allocate().
  Result<MemoryBlock> allocate(uint64_t size_bytes) noexcept {
    return MemoryBlock::allocate(*context_.device_memory, size_bytes, device_, &used_bytes_);
  }
  uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  DevicePart(const CudaBackendContext& context, int32_t device) noexcept
      : context_(context), device_(device) {}
  Status load_constant(const Constant& constant) noexcept;

  const CudaBackendContext context_;
  const int32_t device_;
  std::atomic<uint64_t> used_bytes_{0};
  DeviceCode code_;
  std::vector<MemoryBlock> constants_;  ///< as Pipeline::constants
};

}  // namespace atl::cuda_backend
