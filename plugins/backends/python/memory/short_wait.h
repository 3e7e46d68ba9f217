/// Whether it pays to wait for an execution where it was asked for.
#pragma once

#include <atomic>
#include <cstdint>

namespace atl::python {

/// Being woken up by another thread costs more than a small model's execution. So where executions were short so far, the thread that has
/// brought a batch waits for its end: a moment, as it may be one of those that serve connections. [any]
///
/// A wait that may end before the system's next tick has a timer programmed and taken back, which in a virtual machine leaves it twice: 2 to 3
/// us, where waking up a worker and going on after it take 1. So where no execution of late has taken longer than the moment, the wait has a
/// limit that is due after the tick; one execution in kExactAfterLong can take a thread that long.
class ShortWait {
 public:
  /// Executions that take less are waited for, on average, and for twice as long.
  static constexpr int64_t kShortNs = 100'000;
  static constexpr int64_t kCoarseNs = 5'000'000;
  static constexpr int32_t kExactAfterLong = 256;

  /// Before an execution. \returns for how long to wait for it, ns; 0: not at all
  int64_t time_ns() noexcept {
    if (skipped_.load(std::memory_order_relaxed) > 0) {
      skipped_.fetch_sub(1, std::memory_order_relaxed);
      return 0;
    }
    if (mean_ns_.load(std::memory_order_relaxed) >= kShortNs) return 0;
    return exact_.load(std::memory_order_relaxed) > 0 ? 2 * kShortNs : kCoarseNs;
  }
  /// After it was waited for.
  void add_wait(bool has_come) noexcept {
    if (has_come) {
      missed_.store(0, std::memory_order_relaxed);
    } else if (missed_.fetch_add(1, std::memory_order_relaxed) + 1 >= kMissedMax) {
      missed_.store(0, std::memory_order_relaxed);
      skipped_.store(kSkipped, std::memory_order_relaxed);
    }
  }
  /// An execution has ended.
  void add_execution(int64_t duration_ns) noexcept {
    const int64_t mean_ns = mean_ns_.load(std::memory_order_relaxed);
    mean_ns_.store(mean_ns + (duration_ns - mean_ns) / kWeight, std::memory_order_relaxed);
    if (duration_ns > 2 * kShortNs) {
      exact_.store(kExactAfterLong, std::memory_order_relaxed);
    } else if (exact_.load(std::memory_order_relaxed) > 0) {
      exact_.fetch_sub(1, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int64_t kWeight = 8;
  /// In a row, as of a worker that wakes up none but the reader; then so many executions are not waited for.
  static constexpr uint32_t kMissedMax = 8;
  static constexpr int32_t kSkipped = 1000;

  std::atomic<int64_t> mean_ns_{0};
  std::atomic<int32_t> exact_{kExactAfterLong};  ///< executions until the limit may be a coarse one
  std::atomic<uint32_t> missed_{0};
  std::atomic<int32_t> skipped_{0};
};

}  // namespace atl::python
