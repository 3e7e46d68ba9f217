/// How long an instance's executions take, and whether that makes it light.
#pragma once

#include <cstdint>

namespace atl::schedulers {

/// Looks at the last 16 executions. An average would not do: an execution of microseconds that the system
/// interrupts for milliseconds is nothing that the model did, however long it took. Not thread safe: who runs
/// the instance adds, who was handed the instance reads.
class ExecutionTime {
 public:
  /// \param light_limit_ns  executions that take less are light; 0: none are.
  explicit ExecutionTime(int64_t light_limit_ns = 0) noexcept
      : light_limit_ns_(light_limit_ns),
        long_limit_ns_(light_limit_ns > INT64_MAX / kLong ? INT64_MAX : light_limit_ns * kLong) {}

  /// \param cut_short  because a request of it was cancelled: it tells nothing unless it took the limit all the
  ///                   same. Else clients that cancel make a heavy model that obeys them look light.
  void add(int64_t duration_ns, bool cut_short = false) noexcept {
    if (cut_short && duration_ns < light_limit_ns_) return;
    heavy_.push(duration_ns >= light_limit_ns_);
    long_.push(duration_ns >= long_limit_ns_);
    if (samples_ < kSamples) ++samples_;
  }
  /// Less than half of the executions took the limit, at most two of them many times the limit, and there
  /// were enough of them to tell.
  bool is_light() const noexcept {
    return samples_ >= kSamplesMin && 2 * heavy_.count < samples_ && long_.count <= kLongMost;
  }

  /// Executions before they are judged.
  static constexpr uint32_t kSamplesMin = 4;

 private:
  static constexpr uint32_t kSamples = 16;
  static constexpr int64_t kLong = 4;  ///< times the limit
  static constexpr uint32_t kLongMost = 2;

  /// Yes or no of the last executions, and how many were yes.
  struct History {
    void push(bool bit) noexcept {
      constexpr uint32_t kOldest = 1u << (kSamples - 1);
      count += static_cast<uint32_t>(bit) - static_cast<uint32_t>((bits & kOldest) != 0);
      bits = ((bits & ~kOldest) << 1) | static_cast<uint32_t>(bit);
    }
    uint32_t bits = 0;  ///< the newest is the lowest
    uint32_t count = 0;
  };

  int64_t light_limit_ns_;
  int64_t long_limit_ns_;
  History heavy_, long_;
  uint32_t samples_ = 0;
};

}  // namespace atl::schedulers
