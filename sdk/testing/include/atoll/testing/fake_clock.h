/// A clock that a test moves by hand, and the real one for tests with real threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "atoll/core/clock.h"

namespace atl::test {

/// Starts at one second, so that 0 stays "not set" in structs that hold times. [any]
class FakeClock final : public Clock {
 public:
  explicit FakeClock(int64_t start_ns = kNsPerSecond) noexcept : now_ns_(start_ns) {}
  virtual ~FakeClock() = default;
  int64_t now_ns() const noexcept override { return now_ns_.load(std::memory_order_acquire); }
  /// 2001-09-09T01:46:40Z plus now_ns().
  int64_t wall_ns() const noexcept override { return 1'000'000'000 * kNsPerSecond + now_ns(); }
  void advance(int64_t by_ns) noexcept { now_ns_.fetch_add(by_ns, std::memory_order_acq_rel); }
  /// Moves forward to the time; a time in the past changes nothing.
  void advance_to(int64_t to_ns) noexcept {
    int64_t now = now_ns();
    while (now < to_ns && !now_ns_.compare_exchange_weak(now, to_ns, std::memory_order_acq_rel)) {
    }
  }

 private:
  std::atomic<int64_t> now_ns_;
};

/// The steady clock. [any]
class RealClock final : public Clock {
 public:
  virtual ~RealClock() = default;
  int64_t now_ns() const noexcept override { return count(std::chrono::steady_clock::now()); }
  int64_t wall_ns() const noexcept override { return count(std::chrono::system_clock::now()); }

 private:
  template <class TimePoint>
  static int64_t count(TimePoint time) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  }
};

}  // namespace atl::test
