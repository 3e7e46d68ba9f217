/// Memory for secrets.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

/// Pages of their own that are left out of core dumps and of children that are forked, and, if they are locked, are not written to
/// swap space. They are overwritten before they are given back. Movable.
class LockedMemory {
 public:
  /// No bytes.
  LockedMemory() noexcept = default;
  /// Zeroed. \param lock  false: they may be swapped out
  /// Errors: RESOURCE_EXHAUSTED there is no such memory, or the process may not lock it; says what limits it.
  static Result<LockedMemory> make(size_t bytes, bool lock) noexcept;
  LockedMemory(LockedMemory&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  LockedMemory& operator=(LockedMemory&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~LockedMemory();

  /// Of the size that was asked for, from the beginning of a page on.
  std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(begin_), size_}; }

 private:
  void* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace atl
