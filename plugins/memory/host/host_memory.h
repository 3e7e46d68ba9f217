/// CPU memory for tensors, counted.
#pragma once

#include <atomic>

#include "atoll/memory/memory.h"
#include "memory/host/growable_ranges.h"

namespace atl::memory {

/// The C library's allocator, which keeps small blocks per thread and is as quick as any pool here would be;
/// what this adds is alignment, an exact count and a limit that is never exceeded, not even for a moment. Memory
/// that grows is the system's: pages in a range of reserved addresses.
class HostMemory final : public Memory {
 public:
  /// \param limit_bytes  most bytes in use at a time; 0: no limit.
  explicit HostMemory(uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}

  MemoryKind kind() const noexcept override { return MemoryKind::kCpu; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override;
  void free(const Buffer& buffer) noexcept override;
  Result<Buffer> allocate_growable(uint64_t size_bytes, uint64_t most_bytes,
                                   int64_t device_id) noexcept override;
  Status grow(Buffer& buffer, uint64_t size_bytes) noexcept override;
  void free_growable(const Buffer& buffer) noexcept override;
  uint64_t used_bytes() const noexcept override { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }

 private:
  static Status check(uint64_t size_bytes, int64_t device_id) noexcept;
  Status count(uint64_t size_bytes) noexcept;

  const uint64_t limit_bytes_;
  GrowableRanges growable_;
  alignas(64) std::atomic<uint64_t> used_bytes_{0};
};

}  // namespace atl::memory
