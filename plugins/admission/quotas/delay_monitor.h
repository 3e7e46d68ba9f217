/// Whether requests have waited too long for too long.
#pragma once

#include <cstdint>

namespace atl::quotas {

/// The idea of CoDel: a queue that is long for a moment absorbs a burst; one whose delay has not been below
/// the target for a whole interval only makes everybody late. Not thread safe.
class DelayMonitor {
 public:
  /// \param target_ns  0: never overloaded
  DelayMonitor(int64_t target_ns, int64_t interval_ns) noexcept
      : target_ns_(target_ns), interval_ns_(interval_ns) {}

  /// So long would one wait who came now.
  void observe(int64_t now_ns, int64_t wait_ns) noexcept {
    if (target_ns_ == 0) return;
    if (wait_ns < target_ns_) {
      above_since_ns_ = 0;
      // Half the target, so that what keeps the queue at the target does not end at once.
      if (wait_ns < target_ns_ / 2) overloaded_ = false;
    } else if (above_since_ns_ == 0) {
      above_since_ns_ = now_ns;
    } else if (now_ns - above_since_ns_ >= interval_ns_) {
      overloaded_ = true;
    }
  }
  bool overloaded() const noexcept { return overloaded_; }
  int64_t target_ns() const noexcept { return target_ns_; }

 private:
  int64_t target_ns_;
  int64_t interval_ns_;
  int64_t above_since_ns_ = 0;
  bool overloaded_ = false;
};

}  // namespace atl::quotas
