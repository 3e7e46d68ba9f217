/// Memory of one device that grows where it is, by the driver's virtual memory calls.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "memory/cuda/device_budget.h"
#include "memory/cuda/devices.h"

namespace atl::memory {

/// Ranges of addresses, the first of which have memory: one piece for each time that the range grew. [any]
class GrowableDeviceMemory {
 public:
  GrowableDeviceMemory(Devices& devices, int32_t device, DeviceBudget& budget) noexcept
      : devices_(devices), device_(device), budget_(budget) {}

  struct Grown {
    CudaAddress address = 0;
    uint64_t bytes = 0;  ///< that can be used
  };
  /// Errors: as Memory::allocate_growable(), and Cuda::report().
  Result<Grown> allocate(uint64_t bytes, uint64_t most_bytes) noexcept;
  /// \returns what can be used now. Errors: as Memory::grow(), and Cuda::report().
  Result<uint64_t> grow(CudaAddress address, uint64_t bytes) noexcept;
  void free(CudaAddress address) noexcept;

 private:
  struct Range {
    CudaAddress address = 0;
    uint64_t most_bytes = 0;  ///< asked for
    uint64_t reserved_bytes = 0;
    uint64_t used_bytes = 0;
    std::vector<uint64_t> pieces;  ///< their sizes, in order
  };

  Result<uint64_t> granularity() noexcept;
  Status extend(Range& range, uint64_t new_bytes) noexcept;
  Status map(CudaAddress address, uint64_t bytes) noexcept;
  void release(const Range& range) noexcept;
  CudaAllocationOptions options() const noexcept;

  Devices& devices_;
  const int32_t device_;
  DeviceBudget& budget_;
  std::mutex mutex_;
  uint64_t granularity_ = 0;                       ///< 0: not asked for yet
  std::unordered_map<CudaAddress, Range> ranges_;  ///< elements stay where they are
};

}  // namespace atl::memory
