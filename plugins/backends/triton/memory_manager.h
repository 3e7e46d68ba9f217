/// Memory for foreign backends.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "atoll/core/followed_service.h"
#include "atoll/memory/memory.h"
#include "atoll/triton/backend.h"

namespace atl::triton {

/// The heap and, while plugins provide them, pinned memory and memory of GPUs. Where there is none of a kind backends are
/// told so as a server without GPUs would, and go on with memory of the CPU. [any], but for open() and close()
class BackendMemory final : public MemoryManager {
 public:
  /// The heap alone, until open().
  BackendMemory() = default;
  BackendMemory(const BackendMemory&) = delete;
  BackendMemory& operator=(const BackendMemory&) = delete;
  /// What was not freed is.
  ~BackendMemory();

  /// Once, before any backend allocates. [control] \param host  is there until close(). Errors: as Followed::open()
  Status open(Host& host) noexcept;
  /// The heap alone from here on. What was not freed of other kinds is: their provider ends. [control]
  void close() noexcept;

  /// Errors also: INVALID_ARGUMENT there is no such device.
  Result<void*> allocate(MemoryKind kind, int64_t device_id, uint64_t size_bytes) noexcept override;
  Status free(void* data, MemoryKind kind, int64_t device_id) noexcept override;

 private:
  /// As long as one is there its provider is not stopped.
  struct Given {
    Buffer buffer;
    Followed<Memory>::Hold provider;
  };
  struct Kind {
    std::optional<Followed<Memory>> provider;
    std::unordered_map<void*, Given> given;
  };

  Result<void*> allocate_elsewhere(Kind& kind, int64_t device_id, uint64_t size_bytes) noexcept;
  Status free_elsewhere(Kind& kind, void* data, int64_t device_id) noexcept;
  Kind& kind_of(MemoryKind kind) noexcept { return kind == MemoryKind::kGpu ? gpu_ : pinned_; }

  std::mutex mutex_;
  bool is_open_ = false;
  std::unordered_set<void*> heap_;
  Kind pinned_, gpu_;
};

}  // namespace atl::triton
