#include "frontends/metrics/native_histogram.h"

#include <array>
#include <cmath>

namespace atl::frontends::metrics {
namespace {

constexpr uint32_t kBuckets = LatencyHistogram::kBuckets;
constexpr double kPerDoubling = 1 << NativeHistogram::kSchema;

/// The native bucket of each bucket but the first one.
std::array<int32_t, kBuckets> make_places() {
  std::array<int32_t, kBuckets> places{};
  for (uint32_t i = 1; i < kBuckets; ++i) {
    const auto lower_ns = static_cast<double>(LatencyHistogram::upper_bound_ns(i - 1));
    // The last one has no upper bound: its durations are shown as little longer than its lower one.
    const double upper_ns =
        i == kBuckets - 1 ? lower_ns * 1.1 : static_cast<double>(LatencyHistogram::upper_bound_ns(i));
    const double middle_sec = std::sqrt(lower_ns * upper_ns) * 1e-9;
    places[i] = static_cast<int32_t>(std::ceil(std::log2(middle_sec) * kPerDoubling));
  }
  return places;
}

}  // namespace

NativeHistogram native_histogram(const LatencyHistogram& histogram) {
  static const std::array<int32_t, kBuckets> kPlaces = make_places();
  NativeHistogram native;
  native.zero_count = histogram.counts[0];
  int32_t next = 0;  ///< the bucket behind the last one that is shown
  uint64_t before = 0;
  for (uint32_t i = 1; i < kBuckets;) {
    const int32_t place = kPlaces[i];
    uint64_t count = 0;
    for (; i < kBuckets && kPlaces[i] == place; ++i) count += histogram.counts[i];
    if (count == 0) continue;
    if (native.spans.empty() || place != next)
      native.spans.push_back({native.spans.empty() ? place : place - next, 0});
    ++native.spans.back().length;
    native.deltas.push_back(static_cast<int64_t>(count - before));
    before = count;
    next = place + 1;
  }
  return native;
}

}  // namespace atl::frontends::metrics
