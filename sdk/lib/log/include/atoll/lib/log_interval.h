/// How often something that may happen with every request is logged.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace atl {

/// Lets the first record through, then at most one in each interval. [any]
class LogInterval {
 public:
  explicit constexpr LogInterval(int64_t interval_ns) noexcept : interval_ns_(interval_ns) {}

  /// \returns how many were left out since the last record, if one may be written now; nothing if not
  std::optional<uint64_t> next(int64_t now_ns) noexcept {
    int64_t next_ns = next_ns_.load(std::memory_order_relaxed);
    if (now_ns < next_ns ||
        !next_ns_.compare_exchange_strong(next_ns, now_ns + interval_ns_, std::memory_order_relaxed)) {
      left_out_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    return left_out_.exchange(0, std::memory_order_relaxed);
  }

 private:
  const int64_t interval_ns_;
  std::atomic<int64_t> next_ns_{INT64_MIN};
  std::atomic<uint64_t> left_out_{0};
};

}  // namespace atl
