/// What Prometheus wants to see of a LatencyHistogram.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "atoll/core/latency_histogram.h"
#include "frontends/metrics/page.h"

namespace atl::frontends::metrics {

/// Durations of at most so many nanoseconds. A bound inside one of the histogram's buckets gets that bucket's
/// share up to it, as if its durations were spread evenly; it is within a bucket (12.5 %) of the true bound.
uint64_t count_up_to(const LatencyHistogram& histogram, double bound_ns) noexcept;

/// \param unit_ns  nanoseconds in a unit of the bounds. \param whole_sum  the sum is cut to whole units.
prometheus::ClientMetric::Histogram histogram_view(const LatencyHistogram& histogram,
                                                   std::span<const double> bounds, double unit_ns,
                                                   bool whole_sum);

/// The duration, in ns, that the fraction `quantile` (0..1) of the durations does not exceed; NaN without
/// any.
double quantile_ns(const LatencyHistogram& histogram, double quantile) noexcept;

/// What came to `now` since `before`; what would be negative is 0.
LatencyHistogram difference(const LatencyHistogram& now, const LatencyHistogram& before) noexcept;

}  // namespace atl::frontends::metrics
