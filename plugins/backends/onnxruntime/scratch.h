/// Memory that an instance gathers inputs into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

#include "atoll/core/followed_service.h"
#include "atoll/core/status.h"
#include "atoll/memory/memory.h"

namespace atl::ort {

class Scratch;

/// Where scratch memory comes from: the service for memory of its kind, else, for memory of the host, the heap. A service
/// that goes gets back at once what is not in use.
class ScratchSource {
 public:
  explicit ScratchSource(Host& host, MemoryKind kind = MemoryKind::kCpu);

  Status open() noexcept { return memory_.open(); }  ///< [control]
  void close() noexcept { memory_.close(); }         ///< [control] after the last Scratch

 private:
  friend class Scratch;
  void add(Scratch* scratch) noexcept;
  void remove(Scratch* scratch) noexcept;
  void give_back_outdated() noexcept;

  const MemoryKind kind_;
  Followed<Memory> memory_;
  std::mutex mutex_;  // guards scratches_
  std::set<Scratch*> scratches_;
};

/// One block that grows when it must and is kept for the next batch if it is not too large. One owner.
class Scratch {
 public:
  static constexpr size_t kAlignment = 64;
  /// The next multiple of kAlignment.
  static constexpr uint64_t aligned(uint64_t size_bytes) noexcept {
    return (size_bytes + kAlignment - 1) & ~(kAlignment - 1);
  }

  /// \param source      null: the heap; else outlives this
  /// \param keep_bytes  larger blocks are given back after use
  /// \param device      of memory of GPUs
  Scratch(ScratchSource* source, uint64_t keep_bytes, int32_t device = 0) noexcept;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// At least size_bytes, aligned; what was in it is lost.
  /// Errors: RESOURCE_EXHAUSTED; of memory of GPUs also UNAVAILABLE the device is lost, or nobody provides any.
  Result<std::byte*> reserve(uint64_t size_bytes) noexcept;
  /// The contents are no longer needed.
  void done() noexcept;
  /// Lets go of a block that is not in use and would come from elsewhere now: its memory service has gone, or
  /// there was none. [control]
  void give_back_outdated() noexcept;
  uint64_t size_bytes() const noexcept { return block_.size_bytes; }

 private:
  bool is_outdated() const noexcept;
  void release() noexcept;

  ScratchSource* const source_;
  const uint64_t keep_bytes_;
  const int32_t device_;
  bool in_use_ = false;  // written by the owner, under the mutex
  std::mutex mutex_;     // guards the following
  Followed<Memory>::Hold memory_;
  Buffer block_;
};

}  // namespace atl::ort
