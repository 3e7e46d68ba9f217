#include "execution_model.h"

#include <algorithm>
#include <cmath>

namespace atl::schedulers {
namespace {

constexpr double kKeep = 0.98;          // of the sums, from execution to execution
constexpr double kDeviations = 2;       // margin, in mean deviations
constexpr double kDeviationGain = 0.1;  // weight of the newest deviation

}  // namespace

double ExecutionModel::line(double size) const noexcept {
  double mean_size = size_ / weight_, mean_time = time_ / weight_;
  double variance = size_size_ / weight_ - mean_size * mean_size;
  if (variance < 1e-6 * mean_size * mean_size) return mean_time * std::max(1.0, size / mean_size);
  double slope = std::max(0.0, (size_time_ / weight_ - mean_size * mean_time) / variance);
  // A line that falls below zero at size 0 is one through the origin.
  slope = std::min(slope, mean_time / mean_size);
  return mean_time + slope * (size - mean_size);
}

void ExecutionModel::add(uint32_t batch_size, int64_t duration_ns) noexcept {
  double size = batch_size, time = static_cast<double>(std::max<int64_t>(duration_ns, 0));
  if (samples_ != 0) deviation_ns_ += kDeviationGain * (std::abs(time - line(size)) - deviation_ns_);
  for (double* sum : {&weight_, &size_, &time_, &size_size_, &size_time_}) *sum *= kKeep;
  weight_ += 1;
  size_ += size;
  time_ += time;
  size_size_ += size * size;
  size_time_ += size * time;
  samples_ = std::min(samples_ + 1, kSamplesMin);
}

int64_t ExecutionModel::estimate_ns(uint32_t batch_size) const noexcept {
  if (samples_ == 0) return 0;
  double estimate = line(batch_size) + kDeviations * deviation_ns_;
  return static_cast<int64_t>(std::clamp(estimate, 0.0, 1e18));
}

}  // namespace atl::schedulers
