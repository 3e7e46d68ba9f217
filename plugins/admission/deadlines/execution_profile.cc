#include "admission/deadlines/execution_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace atl::deadlines {
namespace {

constexpr double kGain = 0.1;       // weight of the newest execution, once there are enough
constexpr double kDeviations = 2;   // margin, in mean deviations
constexpr double kOutlier = 2;      // times the estimate
constexpr double kCaution = 1.5;    // times what sizes cost that were seen
constexpr uint32_t kExactMax = 64;  // sizes up to it have points of their own

int64_t as_ns(double value) noexcept { return std::llround(std::clamp(value, 0.0, 1e18)); }

}  // namespace

double ExecutionProfile::Point::estimate_ns() const noexcept {
  return average_ns + kDeviations * deviation_ns;
}

uint32_t ExecutionProfile::rounded(uint32_t size) noexcept {
  size = std::max(1u, size);
  if (size <= kExactMax) return size;
  const uint32_t step = 1u << (std::bit_width(size) - 6);
  return size > UINT32_MAX - step ? size : (size + step - 1) / step * step;
}

void ExecutionProfile::add(uint32_t size, int64_t duration_ns) {
  size = rounded(size);
  double time_ns = static_cast<double>(std::max<int64_t>(duration_ns, 0));
  const double most_ns = kOutlier * static_cast<double>(estimate_ns(size)) + 1;
  const bool is_outlier = known() && time_ns > most_ns;
  if (is_outlier && !last_was_outlier_) time_ns = most_ns;
  last_was_outlier_ = is_outlier;
  samples_ = std::min(samples_ + 1, kSamplesMin);
  auto point = std::lower_bound(points_.begin(), points_.end(), size,
                                [](const Point& one, uint32_t wanted) { return one.size < wanted; });
  if (point == points_.end() || point->size != size) {
    points_.insert(point, {size, 1, time_ns, 0, as_ns(time_ns)});
    return;
  }
  ++point->samples;
  const double gain = std::max(kGain, 1.0 / point->samples);
  point->deviation_ns += gain * (std::abs(time_ns - point->average_ns) - point->deviation_ns);
  point->average_ns += gain * (time_ns - point->average_ns);
  point->rounded_ns = as_ns(point->estimate_ns());
}

/// Of a size larger than any that was seen.
double ExecutionProfile::beyond(uint32_t size) const noexcept {
  const Point& first = points_.front();
  const Point& last = points_.back();
  const double last_ns = last.estimate_ns();
  const double in_proportion_ns = last_ns * size / last.size;
  if (last.size < 2 * first.size) return in_proportion_ns;
  const double slope_ns = std::max(0.0, last_ns - first.estimate_ns()) / (last.size - first.size);
  return std::min(in_proportion_ns, last_ns + kCaution * slope_ns * (size - last.size));
}

int64_t ExecutionProfile::estimate_ns(uint32_t size) const noexcept {
  if (points_.empty()) return 0;
  size = std::max(1u, size);
  if (size <= points_.front().size) return points_.front().rounded_ns;
  auto above = std::lower_bound(points_.begin(), points_.end(), size,
                                [](const Point& one, uint32_t wanted) { return one.size < wanted; });
  if (above == points_.end()) {
    return as_ns(beyond(size));
  }
  if (above->size == size) return above->rounded_ns;
  const Point& below = *std::prev(above);
  const double share = static_cast<double>(size - below.size) / (above->size - below.size);
  return as_ns(below.estimate_ns() + share * (above->estimate_ns() - below.estimate_ns()));
}

}  // namespace atl::deadlines
