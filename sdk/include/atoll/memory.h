/// Memory services: "atoll.memory/1", one provider a kind of memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/status.h"
#include "atoll/tensor.h"

namespace atl {

/// [any] Every function may be called from any thread.
class Memory {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.memory/1";

  /// The kind this provider serves.
  virtual MemoryKind kind() const noexcept = 0;
  /// Uninitialised bytes, aligned to 64. size 0 gives a valid, unique address. device_id is the CUDA ordinal
  /// for kGpu and ignored by CPU kinds.
  /// Errors: RESOURCE_EXHAUSTED the limit is reached or the system has none; INVALID_ARGUMENT no such device.
  virtual Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept = 0;
  /// Gives back exactly what allocate() gave.
  virtual void free(const Buffer& buffer) noexcept = 0;
  /// Bytes in use and the limit (0: none).
  virtual uint64_t used_bytes() const noexcept = 0;
  virtual uint64_t limit_bytes() const noexcept = 0;

 protected:
  ~Memory() = default;
};

}  // namespace atl
