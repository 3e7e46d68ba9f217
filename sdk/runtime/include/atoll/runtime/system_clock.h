/// The clock of the running system.
#pragma once

#include <chrono>
#include <cstdint>

#include "atoll/core/clock.h"

namespace atl::runtime {

/// [any]
class SystemClock final : public Clock {
 public:
  int64_t now_ns() const noexcept override { return ns(std::chrono::steady_clock::now().time_since_epoch()); }
  int64_t wall_ns() const noexcept override {
    return ns(std::chrono::system_clock::now().time_since_epoch());
  }

 private:
  template <class Duration>
  static int64_t ns(Duration duration) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  }
};

/// now + timeout, without overflow for timeouts that mean "never".
constexpr int64_t deadline_after(int64_t now_ns, int64_t timeout_ns) noexcept {
  return timeout_ns < INT64_MAX - 1 - now_ns ? now_ns + timeout_ns : INT64_MAX - 1;
}

}  // namespace atl::runtime
