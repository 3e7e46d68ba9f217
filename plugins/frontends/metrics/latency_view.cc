#include "frontends/metrics/latency_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace atl::frontends::metrics {
namespace {

double lower_bound_ns(uint32_t bucket) {
  return bucket == 0 ? 0.0 : static_cast<double>(LatencyHistogram::upper_bound_ns(bucket - 1));
}

}  // namespace

uint64_t count_up_to(const LatencyHistogram& histogram, double bound_ns) noexcept {
  uint64_t count = 0;
  for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    const double lower = lower_bound_ns(i);
    if (bound_ns <= lower) break;
    const uint64_t upper = LatencyHistogram::upper_bound_ns(i);
    if (upper == UINT64_MAX) break;  // how far it reaches is not known
    if (bound_ns >= static_cast<double>(upper)) {
      count += histogram.counts[i];
      continue;
    }
    const double share = (bound_ns - lower) / (static_cast<double>(upper) - lower);
    count += static_cast<uint64_t>(std::llround(share * static_cast<double>(histogram.counts[i])));
    break;
  }
  return count;
}

prometheus::ClientMetric::Histogram histogram_view(const LatencyHistogram& histogram,
                                                   std::span<const double> bounds, double unit_ns,
                                                   bool whole_sum) {
  prometheus::ClientMetric::Histogram view;
  view.sample_count = histogram.count;
  view.sample_sum = static_cast<double>(histogram.sum_ns) / unit_ns;
  if (whole_sum) view.sample_sum = std::floor(view.sample_sum);
  view.bucket.reserve(bounds.size() + 1);
  for (double bound : bounds) view.bucket.push_back({count_up_to(histogram, bound * unit_ns), bound});
  view.bucket.push_back({histogram.count, std::numeric_limits<double>::infinity()});
  return view;
}

double quantile_ns(const LatencyHistogram& histogram, double quantile) noexcept {
  uint64_t total = 0;
  for (uint64_t count : histogram.counts) total += count;
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  const double rank = std::max(1.0, std::ceil(quantile * static_cast<double>(total)));
  double below = 0;
  for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    const auto count = static_cast<double>(histogram.counts[i]);
    if (count == 0 || below + count < rank) {
      below += count;
      continue;
    }
    const uint64_t upper = LatencyHistogram::upper_bound_ns(i);
    const double lower = lower_bound_ns(i);
    if (upper == UINT64_MAX) return lower;
    // Of n durations in a bucket the k-th is taken to be in the middle of the k-th part.
    return lower + (static_cast<double>(upper) - lower) * (rank - below - 0.5) / count;
  }
  return lower_bound_ns(LatencyHistogram::kBuckets - 1);
}

LatencyHistogram difference(const LatencyHistogram& now, const LatencyHistogram& before) noexcept {
  LatencyHistogram result;
  auto minus = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
  for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    result.counts[i] = minus(now.counts[i], before.counts[i]);
  }
  result.count = minus(now.count, before.count);
  result.sum_ns = minus(now.sum_ns, before.sum_ns);
  return result;
}

}  // namespace atl::frontends::metrics
