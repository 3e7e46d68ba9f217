/// CPU memory for tensors, counted.
#pragma once

#include <atomic>

#include "atoll/memory.h"

namespace atl::memory {

/// The C library's allocator, which keeps small blocks per thread and is as quick as any pool here would be;
/// what this adds is alignment, an exact count and a limit that is never exceeded, not even for a moment.
class HostMemory final : public Memory {
 public:
  /// \param limit_bytes  most bytes in use at a time; 0: no limit.
  explicit HostMemory(uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}

  MemoryKind kind() const noexcept override { return MemoryKind::kCpu; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override;
  void free(const Buffer& buffer) noexcept override;
  uint64_t used_bytes() const noexcept override { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }

 private:
  bool reserve(uint64_t size_bytes, uint64_t* used_bytes) noexcept;

  const uint64_t limit_bytes_;
  alignas(64) std::atomic<uint64_t> used_bytes_{0};
};

}  // namespace atl::memory
