/// What executions of one model take, by the size of the batch, learnt from those that were seen.
#pragma once

#include <cstdint>
#include <vector>

namespace atl::deadlines {

/// For each size that was seen a moving average and how far executions were from it. Between such sizes estimates
/// lie on a line; a larger one than was seen is taken to cost half as much again for each item as those between
/// the smallest and the largest that were seen, and in proportion where these tell nothing. An execution that
/// takes several times as long as expected counts less: the system may have interrupted it. The next such one
/// counts. Not thread safe.
class ExecutionProfile {
 public:
  void add(uint32_t size, int64_t duration_ns);
  /// False until there were a few executions.
  bool known() const noexcept { return samples_ >= kSamplesMin; }
  /// With a margin for how much executions vary; 0 if there was none.
  int64_t estimate_ns(uint32_t size) const noexcept;

 private:
  static constexpr uint32_t kSamplesMin = 4;
  struct Point {
    uint32_t size;
    uint32_t samples;
    double average_ns, deviation_ns;
    int64_t rounded_ns = 0;  ///< the estimate: it is asked for much more often than it changes
    double estimate_ns() const noexcept;
  };
  /// Sizes above 64 share points, so that there are not too many.
  static uint32_t rounded(uint32_t size) noexcept;
  double beyond(uint32_t size) const noexcept;

  std::vector<Point> points_;  ///< by size
  uint32_t samples_ = 0;
  bool last_was_outlier_ = false;
};

}  // namespace atl::deadlines
