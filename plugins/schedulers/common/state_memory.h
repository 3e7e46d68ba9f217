/// Where the implicit state of sequences is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "atoll/followed_service.h"
#include "atoll/memory.h"

namespace atl::schedulers {

/// Bytes that are given back when it ends. Move-only.
class StateBlock {
 public:
  StateBlock() noexcept = default;
  StateBlock(StateBlock&& other) noexcept
      : buffer_(std::exchange(other.buffer_, {})),
        borrowed_(other.borrowed_),
        provider_(std::move(other.provider_)) {}
  StateBlock& operator=(StateBlock&& other) noexcept {
    if (this != &other) {
      reset();
      buffer_ = std::exchange(other.buffer_, {});
      borrowed_ = other.borrowed_;
      provider_ = std::move(other.provider_);
    }
    return *this;
  }
  ~StateBlock() { reset(); }
  /// Memory of the CPU that is somebody else's, and stays it.
  static StateBlock borrow(void* data, uint64_t size_bytes) noexcept {
    StateBlock block;
    block.buffer_.data = data;
    block.buffer_.size_bytes = size_bytes;
    block.borrowed_ = true;
    return block;
  }

  /// False: no bytes.
  explicit operator bool() const noexcept { return buffer_.data != nullptr; }
  /// All of it; its size is at least the size that was asked for.
  const Buffer& buffer() const noexcept { return buffer_; }
  bool is_borrowed() const noexcept { return borrowed_; }
  /// Its provider has gone or was replaced, and is not stopped as long as this block is kept.
  bool is_outdated() const noexcept { return provider_.is_outdated(); }
  void reset() noexcept;

 private:
  friend class StateMemory;
  Buffer buffer_;
  bool borrowed_ = false;
  Followed<Memory>::Hold provider_;  // none: the heap
};

/// The providers of "atoll.memory/1" of each kind, whoever they are at the time, and the heap where none provides
/// memory of the CPU. A plugin has one for all its models, and declares `many<Memory>()`.
class StateMemory {
 public:
  /// Blocks begin at multiples of it.
  static constexpr uint64_t kAlignment = 64;

  /// The heap and nothing else, for who has no host.
  StateMemory() noexcept = default;
  /// \param host  outlives it. The heap only, until open().
  explicit StateMemory(Host& host);
  StateMemory(const StateMemory&) = delete;
  StateMemory& operator=(const StateMemory&) = delete;

  Status open() noexcept;  ///< [control] Errors: as Followed::open()
  void close() noexcept;   ///< [control] after the last block

  /// Uninitialised bytes of that kind; where they can not be had, memory of the CPU, whatever the reason.
  /// [request] \param device_id  of GPUs the CUDA ordinal
  /// Errors: RESOURCE_EXHAUSTED.
  Result<StateBlock> allocate(uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept;
  /// Copies the first bytes of one block to the beginning of another; blocks. [request]
  /// Errors: as Memory::copy().
  static Status copy(const StateBlock& to, const StateBlock& from, uint64_t size_bytes) noexcept;

 private:
  static constexpr size_t kKinds = 3;
  Result<StateBlock> allocate_kind(uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept;

  std::optional<Followed<Memory>> providers_[kKinds];  // by kind
};

}  // namespace atl::schedulers
