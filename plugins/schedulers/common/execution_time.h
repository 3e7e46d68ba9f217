/// How long an instance's executions take, as a moving average, and whether that makes it light.
#pragma once

#include <algorithm>
#include <cstdint>

namespace atl::schedulers {

/// Exponentially weighted moving average with weight 1/8 for the newest. An execution counts at most as four
/// times the limit, so that one which the system interrupted does not make the instance heavy, while two or
/// three really long ones do. Not thread safe: who runs the instance adds, who was handed the instance reads.
class ExecutionTime {
 public:
  /// \param light_limit_ns  executions that take less are light; 0: none are.
  explicit ExecutionTime(int64_t light_limit_ns = 0) noexcept
      : light_limit_ns_(light_limit_ns),
        counted_max_ns_(light_limit_ns > INT64_MAX / 4 ? INT64_MAX : light_limit_ns * 4) {}

  void add(int64_t duration_ns) noexcept {
    int64_t counted_ns = std::clamp<int64_t>(duration_ns, 0, counted_max_ns_);
    average_ns_ = samples_ == 0 ? counted_ns : average_ns_ + (counted_ns - average_ns_) / kWeight;
    if (samples_ < kSamplesMin) ++samples_;
  }
  /// The average is below the limit, and there were enough executions to tell.
  bool is_light() const noexcept { return samples_ >= kSamplesMin && average_ns_ < light_limit_ns_; }
  /// Of the times as they are counted.
  int64_t average_ns() const noexcept { return average_ns_; }

  /// Executions before an average counts.
  static constexpr uint32_t kSamplesMin = 4;

 private:
  static constexpr int64_t kWeight = 8;
  int64_t light_limit_ns_;
  int64_t counted_max_ns_;
  int64_t average_ns_ = 0;
  uint32_t samples_ = 0;
};

}  // namespace atl::schedulers
