/// Memory of one device by the driver's stream-ordered allocator.
#pragma once

#include <mutex>

#include "memory/cuda/device_budget.h"
#include "memory/cuda/devices.h"

namespace atl::memory {

/// A pool of the driver's and a stream that nothing but allocations is ordered in, made by the first allocation.
/// [any]
class DevicePool {
 public:
  /// \param kept_bytes  that the pool keeps for later when they are freed
  DevicePool(Devices& devices, int32_t device, uint64_t kept_bytes, DeviceBudget& budget) noexcept
      : devices_(devices), device_(device), kept_bytes_(kept_bytes), budget_(budget) {}
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;
  ~DevicePool();

  /// Usable at once, on every stream. \param bytes  0 gives an address of its own too
  /// Errors: RESOURCE_EXHAUSTED the limit is reached or the device has none; as Cuda::ensure_current(), report().
  Result<CudaAddress> allocate(uint64_t bytes) noexcept;
  /// Nothing uses it any more. \param bytes  as given to allocate()
  void free(CudaAddress address, uint64_t bytes) noexcept;

 private:
  Status open() noexcept;
  Status make_pool() noexcept;
  Result<CudaAddress> allocate_once(uint64_t bytes) noexcept;

  Devices& devices_;
  const int32_t device_;
  const uint64_t kept_bytes_;
  DeviceBudget& budget_;
  std::mutex mutex_;  ///< while the two are made
  CudaPool pool_ = nullptr;
  CudaStream stream_ = nullptr;
};

}  // namespace atl::memory
