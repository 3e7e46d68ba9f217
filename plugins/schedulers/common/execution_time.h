/// How long an instance's executions take, and whether that makes it light.
#pragma once

#include <bit>
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

  void add(int64_t duration_ns) noexcept {
    heavy_ = push(heavy_, duration_ns >= light_limit_ns_);
    long_ = push(long_, duration_ns >= long_limit_ns_);
    if (samples_ < kSamples) ++samples_;
  }
  /// Less than half of the executions took the limit, at most two of them many times the limit, and there
  /// were enough of them to tell.
  bool is_light() const noexcept {
    return samples_ >= kSamplesMin && 2 * static_cast<uint32_t>(std::popcount(heavy_)) < samples_ &&
           std::popcount(long_) <= kLongMost;
  }

  /// Executions before they are judged.
  static constexpr uint32_t kSamplesMin = 4;

 private:
  static constexpr uint32_t kSamples = 16;  ///< bits of a history
  static constexpr int64_t kLong = 4;       ///< times the limit
  static constexpr int kLongMost = 2;

  static uint16_t push(uint16_t history, bool bit) noexcept {
    return static_cast<uint16_t>(history << 1 | static_cast<uint16_t>(bit));
  }

  int64_t light_limit_ns_;
  int64_t long_limit_ns_;
  uint16_t heavy_ = 0, long_ = 0;  ///< a bit an execution, the last one lowest
  uint32_t samples_ = 0;
};

}  // namespace atl::schedulers
