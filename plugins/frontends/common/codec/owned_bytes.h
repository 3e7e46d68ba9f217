/// Memory for copies of tensor bytes that one request makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "atoll/request/arena.h"
#include "frontends/common/call/request_charge.h"

namespace atl::frontends {

/// Large copies, which may fail for want of memory where an arena could only give up. Not thread safe.
class OwnedBytes {
 public:
  /// Counts the blocks from here on. Set once, before use; outlives this.
  void set_charge(RequestCharge& charge) noexcept { charge_ = &charge; }
  /// Null if there is no memory, or the request may not have it, which the charge then tells. Aligned to 16.
  /// Lives until clear().
  void* allocate(size_t size_bytes) noexcept {
    if (charge_ != nullptr && !charge_->try_add(size_bytes)) return nullptr;
    try {
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size_bytes));
      return blocks_.back().get();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  /// The same, small ones from the arena.
  void* allocate(Arena& arena, size_t size_bytes) noexcept {
    return size_bytes <= kArenaBytes ? arena.allocate(size_bytes) : allocate(size_bytes);
  }
  void clear() noexcept { blocks_.clear(); }

 private:
  static constexpr size_t kArenaBytes = 64 * 1024;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  RequestCharge* charge_ = nullptr;  ///< null: nobody counts
};

}  // namespace atl::frontends
