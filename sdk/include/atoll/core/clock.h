/// Time, handed in, so that whatever waits or measures also runs on a simulated clock.
#pragma once

#include <cstdint>

namespace atl {

/// [any] Every function may be called from any thread.
class Clock {
 public:
  /// Nanoseconds on a clock that never goes back and is not tied to the calendar.
  virtual int64_t now_ns() const noexcept = 0;
  /// Nanoseconds since the Unix epoch; may jump. For log lines and `last_inference` only.
  virtual int64_t wall_ns() const noexcept = 0;

 protected:
  ~Clock() = default;
};

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;

}  // namespace atl
