/// Memory that an instance gathers inputs into.
#pragma once

#include <cstddef>
#include <cstdint>

#include "atoll/memory.h"
#include "atoll/status.h"

namespace atl::ort {

/// One block that grows when it must and is kept for the next batch if it is not too large. From a memory
/// service if there is one, else from the heap. One owner.
class Scratch {
 public:
  static constexpr size_t kAlignment = 64;

  /// \param memory      null: the heap; else outlives this
  /// \param keep_bytes  larger blocks are given back after use
  Scratch(Memory* memory, uint64_t keep_bytes) noexcept : memory_(memory), keep_bytes_(keep_bytes) {}
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// At least size_bytes, aligned; what was in it is lost. Errors: RESOURCE_EXHAUSTED.
  Result<std::byte*> reserve(uint64_t size_bytes) noexcept;
  /// The contents are no longer needed.
  void done() noexcept {
    if (block_.size_bytes > keep_bytes_) release();
  }
  uint64_t size_bytes() const noexcept { return block_.size_bytes; }

 private:
  void release() noexcept;

  Memory* memory_;
  uint64_t keep_bytes_;
  Buffer block_;
};

}  // namespace atl::ort
