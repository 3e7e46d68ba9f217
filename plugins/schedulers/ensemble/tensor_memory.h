/// What the tensors between the steps of one ensemble take.
#pragma once

#include <atomic>
#include <cstdint>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"
#include "schedulers/common/state/state_memory.h"
#include "schedulers/ensemble/block_pool.h"

namespace atl::ensemble {

/// Memory for them, up to a limit: of the kind that a backend prefers where a plugin provides such memory, else of
/// the CPU. [any]
class TensorMemory {
 public:
  /// \param pool, others  outlive this \param limit_bytes  0: none
  TensorMemory(BlockPool& pool, schedulers::StateMemory& others, uint64_t limit_bytes) noexcept
      : pool_(pool), others_(others), limit_bytes_(limit_bytes) {}
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  /// Sets the output's buffer, and what free() needs to know in its sink_data: a number that is even.
  /// \param ahead  the buffer may be given on ahead of its bytes: it gets an event, where there are any
  /// Errors: RESOURCE_EXHAUSTED the limit is reached, or the system has none.
  Status allocate(OutputTensor& output, uint64_t size_bytes, MemoryKind kind, int64_t device_id,
                  bool ahead = false) noexcept;
  /// \returns the bytes that count no longer
  uint64_t free(OutputTensor& output) noexcept;

  uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t limit_bytes() const noexcept { return limit_bytes_; }

 private:
  struct Head;
  Status allocate_elsewhere(OutputTensor& output, uint64_t size_bytes, MemoryKind kind, int64_t device_id,
                            bool ahead) noexcept;

  BlockPool& pool_;
  schedulers::StateMemory& others_;
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> used_bytes_{0};
};

}  // namespace atl::ensemble
