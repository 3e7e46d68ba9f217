/// Host memory that GPUs copy from and to without a detour: "atoll.memory/1" of kind kCpuPinned.
#pragma once

#include <mutex>
#include <optional>

#include "atoll/gpu/cuda.h"
#include "atoll/memory/memory.h"
#include "memory/pinned/slab.h"

namespace atl::memory {

/// One piece of pinned memory, made when something is asked of it for the first time: pinning is slow, and takes the
/// memory from everybody else. [any]
class PinnedMemory final : public Memory {
 public:
  /// \param pool_bytes  0: there is no such memory
  explicit PinnedMemory(uint64_t pool_bytes) : pool_bytes_(pool_bytes), slab_(pool_bytes) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { (void)close().ok(); }

  /// Until then there is no memory to be had. \param cuda  used until close() [control]
  void open(Cuda& cuda) noexcept { cuda_ = &cuda; }
  /// Gives the pool back; nothing of it is in use. \returns what the driver said. [control]
  Status close() noexcept;

  MemoryKind kind() const noexcept override { return MemoryKind::kCpuPinned; }
  Result<Buffer> allocate(uint64_t size_bytes, int64_t device_id) noexcept override;
  void free(const Buffer& buffer) noexcept override;
  uint64_t used_bytes() const noexcept override;
  uint64_t limit_bytes() const noexcept override { return pool_bytes_; }

 private:
  Status make_pool() noexcept;
  Status give_back_pool() noexcept;

  Cuda* cuda_ = nullptr;
  const uint64_t pool_bytes_;
  mutable std::mutex mutex_;
  Slab slab_;
  char* bytes_ = nullptr;  ///< of the slab; null: not made yet
  int32_t device_ = 0;     ///< whose context made it
};

}  // namespace atl::memory
