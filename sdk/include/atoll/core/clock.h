/// Time that is handed in, so that code that waits or measures also runs on a simulated clock.
///
///     const int64_t begun_ns = host.clock().now_ns();
///     ...
///     const int64_t took_us = (host.clock().now_ns() - begun_ns) / kNsPerUs;
#pragma once

#include <cstdint>

namespace atl {

/// The clock of the server, from Host::clock(). A test hands in a FakeClock
/// (atoll/testing/fake_clock.h), which stands still until the test moves it. Every function may be
/// called from any thread, on the request path too. [any]
class Clock {
 public:
  /// Nanoseconds on a clock that never goes back and is not tied to the calendar
  /// (std::chrono::steady_clock, CLOCK_MONOTONIC). Deadlines and durations of all interfaces are on
  /// this clock.
  virtual int64_t now_ns() const noexcept = 0;
  /// Nanoseconds since the Unix epoch. This clock jumps when somebody sets the machine's time, so
  /// it serves for what people and clients read: the time of log lines, and `last_inference` of the
  /// KServe statistics. A duration is never the difference of two of its readings.
  virtual int64_t wall_ns() const noexcept = 0;

 protected:
  ~Clock() = default;
};

/// Units of durations, in nanoseconds. 250 ms are 250 * kNsPerMs.
inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;

}  // namespace atl
