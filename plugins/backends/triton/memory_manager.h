/// Memory for foreign backends.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "atoll/triton/backend.h"

namespace atl::triton {

/// The heap. Of other kinds there is none, as in a server without GPUs: backends go on with memory of the CPU. [any]
class HeapMemory final : public MemoryManager {
 public:
  HeapMemory() = default;
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;
  /// What was not freed is.
  ~HeapMemory();

  Result<void*> allocate(MemoryKind kind, int64_t device_id, uint64_t size_bytes) noexcept override;
  Status free(void* data, MemoryKind kind, int64_t device_id) noexcept override;

 private:
  std::mutex mutex_;
  std::unordered_set<void*> given_;
};

}  // namespace atl::triton
