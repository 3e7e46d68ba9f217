/// Whether it pays to wait for an execution where it was asked for.
#pragma once

#include <atomic>
#include <cstdint>

namespace atl::python {

/// Being woken up by another thread costs more than a small model's execution. So where executions were short so far, the thread that has
/// brought a batch waits for its end: a moment, as it may be one of those that serve connections. [any]
class ShortWait {
 public:
  /// Executions that take less are waited for, on average, and never longer than twice as long.
  static constexpr int64_t kShortNs = 100'000;

  /// Before an execution. \returns for how long to wait for it, ns; 0: not at all
  int64_t time_ns() noexcept {
    if (skipped_.load(std::memory_order_relaxed) > 0) {
      skipped_.fetch_sub(1, std::memory_order_relaxed);
      return 0;
    }
    return mean_ns_.load(std::memory_order_relaxed) < kShortNs ? 2 * kShortNs : 0;
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
  }

 private:
  static constexpr int64_t kWeight = 8;
  /// In a row, as of a worker that wakes up none but the reader; then so many executions are not waited for.
  static constexpr uint32_t kMissedMax = 8;
  static constexpr int32_t kSkipped = 1000;

  std::atomic<int64_t> mean_ns_{0};
  std::atomic<uint32_t> missed_{0};
  std::atomic<int32_t> skipped_{0};
};

}  // namespace atl::python
