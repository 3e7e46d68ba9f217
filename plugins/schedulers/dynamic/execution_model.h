/// How long an execution takes, by the size of its batch, learnt from those that were seen.
#pragma once

#include <cstdint>

namespace atl::schedulers {

/// A line fitted by least squares in which older executions count less and less (half after about 35), and
/// how far the executions were from it. One that takes several times as long as expected counts less: the
/// system may have interrupted it. The next such one counts. Not thread safe.
class ExecutionModel {
 public:
  void add(uint32_t batch_size, int64_t duration_ns) noexcept;
  /// False until there were a few executions.
  bool known() const noexcept { return samples_ >= kSamplesMin; }
  /// What an execution takes on average, and with a margin for how much they vary; 0 if there was none. Where
  /// no line can be fitted, because all batches had one size, others up to twice that size are taken to cost
  /// the same, and still larger ones in proportion: that they cost more is found out when one comes.
  int64_t average_ns(uint32_t batch_size) const noexcept;
  int64_t estimate_ns(uint32_t batch_size) const noexcept;
  /// The size that all batches had of late; 0 if they differed, or there was none.
  uint32_t only_size() const noexcept;
  /// Of all batches; 0: there was none.
  uint32_t largest_size() const noexcept { return largest_size_; }

 private:
  static constexpr uint32_t kSamplesMin = 4;
  double line(double size) const noexcept;
  double size_variance() const noexcept;
  bool sizes_differ() const noexcept;

  uint32_t samples_ = 0;
  uint32_t largest_size_ = 0;
  bool last_was_outlier_ = false;
  double weight_ = 0, size_ = 0, time_ = 0, size_size_ = 0, size_time_ = 0;  // weighted sums
  double deviation_ns_ = 0;
};

}  // namespace atl::schedulers
