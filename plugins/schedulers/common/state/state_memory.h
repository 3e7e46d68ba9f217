/// Where the implicit state of sequences is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "atoll/core/followed_service.h"
#include "atoll/memory/memory.h"

namespace atl::schedulers {

/// Bytes that are given back when it ends. Move-only.
class StateBlock {
 public:
  StateBlock() noexcept = default;
  StateBlock(StateBlock&& other) noexcept
      : buffer_(std::exchange(other.buffer_, {})),
        origin_(other.origin_),
        event_(std::exchange(other.event_, nullptr)),
        provider_(std::move(other.provider_)) {}
  StateBlock& operator=(StateBlock&& other) noexcept {
    if (this != &other) {
      reset();
      buffer_ = std::exchange(other.buffer_, {});
      origin_ = other.origin_;
      event_ = std::exchange(other.event_, nullptr);
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
    block.origin_ = Origin::kBorrowed;
    return block;
  }

  /// False: no bytes.
  explicit operator bool() const noexcept { return buffer_.data != nullptr; }
  /// All of it; its size is at least the size that was asked for.
  const Buffer& buffer() const noexcept { return buffer_; }
  bool is_borrowed() const noexcept { return origin_ == Origin::kBorrowed; }
  bool is_growable() const noexcept { return origin_ == Origin::kGrowable; }
  /// Makes a growable one so large, or somewhat larger, where it is. Errors: as Memory::grow().
  Status grow(uint64_t size_bytes) noexcept { return provider_->grow(buffer_, size_bytes); }
  /// An event of its provider's (Memory::make_event), which lives as long as the block; null: none is to be had.
  /// The block ends when it is reached.
  DeviceEvent* event() noexcept;
  /// Its provider has gone or was replaced, and is not stopped as long as this block is kept.
  bool is_outdated() const noexcept { return provider_.is_outdated(); }
  void reset() noexcept;

 private:
  friend class StateMemory;
  enum class Origin : uint8_t { kAllocated, kGrowable, kBorrowed };
  Buffer buffer_;
  Origin origin_ = Origin::kAllocated;
  DeviceEvent* event_ = nullptr;
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
  /// The heap only, until open(). \param host  outlives it
  /// \param growable_bytes  addresses that are reserved for a block that grows; 0: none grows where it is
  StateMemory(Host& host, uint64_t growable_bytes);
  StateMemory(const StateMemory&) = delete;
  StateMemory& operator=(const StateMemory&) = delete;

  Status open() noexcept;  ///< [control] Errors: as Followed::open()
  void close() noexcept;   ///< [control] after the last block

  /// Uninitialised bytes of that kind; where they cannot be had, memory of the CPU, whatever the reason.
  /// [request] \param device_id  of GPUs the CUDA ordinal
  /// Errors: RESOURCE_EXHAUSTED.
  Result<StateBlock> allocate(uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept;
  /// The same, growable where the provider of that kind has such memory and one is left: otherwise what
  /// allocate() gives for half as many bytes again, or for these where there are no more.
  Result<StateBlock> allocate_growable(uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept;
  /// Copies the first bytes of one block to the beginning of another; blocks. [request]
  /// Errors: as Memory::copy().
  static Status copy(const StateBlock& to, const StateBlock& from, uint64_t size_bytes) noexcept;

 private:
  static constexpr size_t kKinds = 3;
  Result<StateBlock> allocate_kind(uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept;

  const uint64_t growable_bytes_ = 0;
  std::optional<Followed<Memory>> providers_[kKinds];  // by kind
};

}  // namespace atl::schedulers
