/// Memory of other processes on GPUs, opened by the handles that they gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "memory/cuda/devices.h"

namespace atl::memory {

/// Each is open once, however often it is asked for: a context maps an allocation only once. [any]
class SharedHandles {
 public:
  explicit SharedHandles(Devices& devices) noexcept : devices_(devices) {}
  SharedHandles(const SharedHandles&) = delete;
  SharedHandles& operator=(const SharedHandles&) = delete;
  ~SharedHandles();

  /// \returns where the allocation begins. Errors: as Memory::open_handle(), and Cuda::report().
  Result<CudaAddress> open(int32_t device, std::span<const std::byte> handle, uint64_t size_bytes) noexcept;
  /// What open() gave, as often as it did.
  void close(int32_t device, CudaAddress address) noexcept;

 private:
  struct Mapping {
    int32_t device = 0;
    std::string handle;
    CudaAddress address = 0;
    uint64_t size_bytes = 0;
    uint32_t users = 0;
  };

  Result<Mapping> map(int32_t device, std::span<const std::byte> handle) noexcept;
  Status measure(Mapping& mapping) noexcept;
  void unmap(const Mapping& mapping) noexcept;

  Devices& devices_;
  std::mutex mutex_;  ///< while the driver maps too: nobody else waits for it
  std::vector<Mapping> mappings_;
};

}  // namespace atl::memory
