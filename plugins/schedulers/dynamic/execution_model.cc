#include "schedulers/dynamic/execution_model.h"

#include <algorithm>
#include <cmath>

namespace atl::schedulers {
namespace {

constexpr double kKeep = 0.98;          // of the sums, from execution to execution
constexpr double kDeviations = 2;       // margin, in mean deviations
constexpr double kDeviationGain = 0.1;  // weight of the newest deviation
constexpr double kOutlier = 2;          // times the estimate

int64_t as_ns(double value) noexcept { return std::llround(std::clamp(value, 0.0, 1e18)); }

}  // namespace

double ExecutionModel::size_variance() const noexcept {
  double mean_size = size_ / weight_;
  return size_size_ / weight_ - mean_size * mean_size;
}

bool ExecutionModel::sizes_differ() const noexcept {
  double mean_size = size_ / weight_;
  return size_variance() > 1e-6 * mean_size * mean_size;
}

uint32_t ExecutionModel::only_size() const noexcept {
  return samples_ == 0 || sizes_differ() ? 0 : static_cast<uint32_t>(std::lround(size_ / weight_));
}

double ExecutionModel::line(double size) const noexcept {
  double mean_size = size_ / weight_, mean_time = time_ / weight_;
  if (!sizes_differ()) return mean_time * std::max(1.0, size / (2 * mean_size));
  double slope = std::max(0.0, (size_time_ / weight_ - mean_size * mean_time) / size_variance());
  // A line that falls below zero at size 0 is one through the origin.
  slope = std::min(slope, mean_time / mean_size);
  return mean_time + slope * (size - mean_size);
}

void ExecutionModel::add(uint32_t batch_size, int64_t duration_ns) noexcept {
  batch_size = std::max(1u, batch_size);
  largest_size_ = std::max(largest_size_, batch_size);
  double size = batch_size, time = static_cast<double>(std::max<int64_t>(duration_ns, 0));
  double most = kOutlier * static_cast<double>(estimate_ns(batch_size)) + 1;
  bool is_outlier = known() && time > most;
  if (is_outlier && !last_was_outlier_) time = most;
  last_was_outlier_ = is_outlier;
  if (samples_ != 0) deviation_ns_ += kDeviationGain * (std::abs(time - line(size)) - deviation_ns_);
  for (double* sum : {&weight_, &size_, &time_, &size_size_, &size_time_}) *sum *= kKeep;
  weight_ += 1;
  size_ += size;
  time_ += time;
  size_size_ += size * size;
  size_time_ += size * time;
  samples_ = std::min(samples_ + 1, kSamplesMin);
}

int64_t ExecutionModel::average_ns(uint32_t batch_size) const noexcept {
  return samples_ == 0 ? 0 : as_ns(line(batch_size));
}

int64_t ExecutionModel::estimate_ns(uint32_t batch_size) const noexcept {
  return samples_ == 0 ? 0 : as_ns(line(batch_size) + kDeviations * deviation_ns_);
}

}  // namespace atl::schedulers
