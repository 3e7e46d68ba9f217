/// The memory of all requests together, counted.
#pragma once

#include <atomic>

#include "atoll/request_memory.h"

namespace atl::memory {

/// One counter: each request reserves and releases a few times, which is nothing beside what it costs else.
class RequestBudget final : public RequestMemory {
 public:
  /// \param limit_bytes  0: no limit
  explicit RequestBudget(uint64_t limit_bytes = 0) noexcept : limit_bytes_(limit_bytes) {}
  /// Before the first use.
  void set_limit(uint64_t limit_bytes) noexcept { limit_bytes_ = limit_bytes; }

  Status reserve(uint64_t bytes) noexcept override;
  void release(uint64_t bytes) noexcept override { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  Status check(uint64_t bytes) noexcept override;
  uint64_t used_bytes() const noexcept override { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t limit_bytes() const noexcept override { return limit_bytes_; }

  /// [any] Reservations and checks that failed.
  uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  bool has_room(uint64_t used, uint64_t bytes) const noexcept {
    return limit_bytes_ == 0 || (bytes <= limit_bytes_ && used <= limit_bytes_ - bytes);
  }
  Status refuse(uint64_t used, uint64_t bytes) noexcept;

  uint64_t limit_bytes_;
  alignas(64) std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace atl::memory
