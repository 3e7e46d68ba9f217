/// A histogram of durations whose buckets all have about the same relative width. Prometheus
/// buckets of any bounds, and quantiles within 7 %, can be computed from it.
///
///     LatencyHistogram latencies;
///     latencies.add(static_cast<uint64_t>(end_ns - begin_ns));
///     const double mean_ns = static_cast<double>(latencies.sum_ns) / static_cast<double>(latencies.count);
///
/// The model catalog keeps some of them for each version of a model (queue, input, infer, output,
/// total, first response), and the metrics frontend makes its histograms and summaries of them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace atl {

/// Durations from 1024 ns (2^10 ns) to 137 s (2^37 ns), in eight buckets to each doubling. Shorter
/// durations are in bucket 0, longer ones in the last bucket. Counts only ever grow, so the
/// difference of two snapshots is the histogram of the time between them. The struct is plain data
/// and crosses interfaces in ModelStatistics (request/statistics.h). It has no lock: its owner
/// makes sure that one thread at a time changes it.
struct LatencyHistogram {
  /// The shape: the powers of two, in nanoseconds, between which the buckets lie, and how many
  /// buckets each doubling has. 218 buckets result.
  static constexpr uint32_t kFirstExponent = 10, kLastExponent = 37, kPerDoubling = 8;
  static constexpr uint32_t kBuckets = (kLastExponent - kFirstExponent) * kPerDoubling + 2;

  /// How many durations were in each bucket; not cumulative, unlike the buckets of Prometheus.
  std::array<uint64_t, kBuckets> counts{};
  /// How many durations there were: the sum of all counts.
  uint64_t count = 0;
  /// The sum of the durations themselves, not of the buckets' bounds.
  uint64_t sum_ns = 0;

  /// The index of the bucket that a duration belongs to: 0 to kBuckets - 1. A duration on the bound
  /// of two buckets belongs to the upper one.
  static constexpr uint32_t bucket_of(uint64_t ns) noexcept {
    // The position of the highest bit gives the doubling, and the three bits behind it the step
    // within the doubling.
    if (ns < (uint64_t{1} << kFirstExponent)) return 0;
    auto exponent = static_cast<uint32_t>(std::bit_width(ns)) - 1;
    if (exponent >= kLastExponent) return kBuckets - 1;
    auto step = static_cast<uint32_t>(ns >> (exponent - 3)) & (kPerDoubling - 1);
    return 1 + (exponent - kFirstExponent) * kPerDoubling + step;
  }
  /// Every duration in the bucket is below this number of nanoseconds. The last bucket has no bound
  /// (UINT64_MAX).
  static constexpr uint64_t upper_bound_ns(uint32_t bucket) noexcept {
    if (bucket >= kBuckets - 1) return UINT64_MAX;
    uint32_t exponent = kFirstExponent + bucket / kPerDoubling;
    uint64_t step = bucket % kPerDoubling;
    return (kPerDoubling + step) << (exponent - 3);
  }
  /// Counts one duration. Costs some integer operations, so it may stand on the request path.
  void add(uint64_t ns) noexcept {
    ++counts[bucket_of(ns)];
    ++count;
    sum_ns += ns;
  }
  /// Adds all that another histogram has counted, as for the total of several threads.
  void merge(const LatencyHistogram& other) noexcept {
    for (uint32_t i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
    count += other.count;
    sum_ns += other.sum_ns;
  }
};

// Neighbouring buckets meet, at both ends and at a doubling.
static_assert(LatencyHistogram::upper_bound_ns(0) == 1024 && LatencyHistogram::bucket_of(1023) == 0 &&
              LatencyHistogram::bucket_of(1024) == 1);
static_assert(LatencyHistogram::upper_bound_ns(8) == 2048 && LatencyHistogram::bucket_of(2047) == 8 &&
              LatencyHistogram::bucket_of(2048) == 9);
static_assert(LatencyHistogram::bucket_of(UINT64_MAX) == LatencyHistogram::kBuckets - 1);

}  // namespace atl
