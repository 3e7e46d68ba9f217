/// How long an execution takes, by the size of its batch, learnt from those that were seen.
#pragma once

#include <cstdint>

namespace atl::schedulers {

/// A line fitted by least squares in which older executions count less and less (half after about 35), and
/// how far the executions were from it. Not thread safe.
class ExecutionModel {
 public:
  void add(uint32_t batch_size, int64_t duration_ns) noexcept;
  /// False until there were a few executions.
  bool known() const noexcept { return samples_ >= kSamplesMin; }
  /// What an execution takes, with a margin for how much they vary. Where no line can be fitted, because all
  /// batches had one size, smaller ones are taken to cost the same and larger ones in proportion.
  int64_t estimate_ns(uint32_t batch_size) const noexcept;

 private:
  static constexpr uint32_t kSamplesMin = 4;
  double line(double size) const noexcept;

  uint32_t samples_ = 0;
  double weight_ = 0, size_ = 0, time_ = 0, size_size_ = 0, size_time_ = 0;  // weighted sums
  double deviation_ns_ = 0;
};

}  // namespace atl::schedulers
