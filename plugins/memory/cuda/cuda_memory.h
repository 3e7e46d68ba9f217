/// Memory of GPUs: "atoll.memory/1" of kind kGpu.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "atoll/memory/memory.h"
#include "memory/cuda/device_pool.h"
#include "memory/cuda/growable_device_memory.h"
#include "memory/cuda/shared_handles.h"

namespace atl::memory {

/// Bytes a device: what all have, and what some have instead.
struct BytesByDevice {
  uint64_t all = 0;
  std::map<int32_t, uint64_t> some = {};

  uint64_t of(int32_t device) const noexcept {
    const auto found = some.find(device);
    return found == some.end() ? all : found->second;
  }
};

struct CudaMemorySettings {
  BytesByDevice limit;  ///< most in use at a time; 0: none
  BytesByDevice kept;   ///< freed memory that a device keeps for later
};

class CudaMemory final : public Memory {
 public:
  /// \param devices  open; outlives this
  CudaMemory(Devices& devices, const CudaMemorySettings& settings);

  MemoryKind kind() const noexcept override { return MemoryKind::kGpu; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override;
  void free(const Buffer& buffer) noexcept override;
  /// Of all devices together; no limit if one has none.
  uint64_t used_bytes() const noexcept override;
  uint64_t limit_bytes() const noexcept override;
  std::vector<int32_t> devices() const noexcept override;
  Status copy(const Buffer& to, const Buffer& from) noexcept override;
  Result<Buffer> open_handle(std::span<const std::byte> handle, int64_t device_id,
                             uint64_t size_bytes) noexcept override;
  void close_handle(const Buffer& buffer) noexcept override;
  Result<Buffer> allocate_growable(uint64_t size_bytes, uint64_t most_bytes,
                                   int64_t device_id) noexcept override;
  Status grow(Buffer& buffer, uint64_t size_bytes) noexcept override;
  void free_growable(const Buffer& buffer) noexcept override;
  Result<DeviceMemoryUsage> device_usage(int64_t device_id) noexcept override;
  Result<DeviceEvent*> make_event(int64_t device_id) noexcept override;
  void free_event(DeviceEvent* event) noexcept override;

 private:
  struct PerDevice {
    PerDevice(Devices& devices, int32_t ordinal, const CudaMemorySettings& settings);
    const int32_t device;
    DeviceBudget budget;
    DevicePool pool;
    GrowableDeviceMemory growable;
  };

  PerDevice* find(int64_t device_id) const noexcept;
  /// Of a device that find() does not know.
  Status no_device(int64_t device_id) const noexcept;
  Status copy_on(int32_t device, CudaStream stream, const Buffer& to, const Buffer& from) noexcept;

  Devices& devices_;
  std::vector<std::unique_ptr<PerDevice>> per_device_;
  SharedHandles handles_;
};

}  // namespace atl::memory
