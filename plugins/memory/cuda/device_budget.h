/// What is in use of one device's memory, and the most that may be.
#pragma once

#include <atomic>
#include <cstdint>

#include "atoll/core/status.h"

namespace atl::memory {

/// Never over the limit, not even for a moment. [any]
class DeviceBudget {
 public:
  /// More than a device has, 64 TiB; keeps sums from overflowing.
  static constexpr uint64_t kSizeMax = uint64_t{1} << 46;

  /// \param limit_bytes  0: none
  DeviceBudget(int32_t device, uint64_t limit_bytes) noexcept : device_(device), limit_bytes_(limit_bytes) {}

  uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t limit_bytes() const noexcept { return limit_bytes_; }

  /// Errors: RESOURCE_EXHAUSTED they do not fit.
  Status take(uint64_t bytes) noexcept {
    uint64_t used = used_bytes();
    const uint64_t limit = limit_bytes_ == 0 ? kSizeMax : limit_bytes_;
    do {
      if (bytes > limit || used > limit - bytes) {
        return make_status(Code::kResourceExhausted, "GPU ", device_, ": ", bytes, " bytes asked for, ", used,
                           " bytes of the limit of ", limit, " bytes are in use");
      }
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return {};
  }
  void give_back(uint64_t bytes) noexcept { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const int32_t device_;
  const uint64_t limit_bytes_;
  alignas(64) std::atomic<uint64_t> used_bytes_{0};
};

}  // namespace atl::memory
