/// A histogram of durations with buckets of a constant relative width: from it come Prometheus buckets of any
/// bounds and quantiles within 7 %.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace atl {

/// Durations from 1 us (2^10 ns) to 137 s (2^37 ns), eight buckets to each doubling; shorter ones are in
/// bucket 0, longer ones in the last. Counts only ever grow, so the difference of two snapshots is the
/// histogram of the time between them.
struct LatencyHistogram {
  static constexpr uint32_t kFirstExponent = 10, kLastExponent = 37, kPerDoubling = 8;
  static constexpr uint32_t kBuckets = (kLastExponent - kFirstExponent) * kPerDoubling + 2;

  std::array<uint64_t, kBuckets> counts{};
  uint64_t count = 0;
  uint64_t sum_ns = 0;

  static constexpr uint32_t bucket_of(uint64_t ns) noexcept {
    if (ns < (uint64_t{1} << kFirstExponent)) return 0;
    auto exponent = static_cast<uint32_t>(std::bit_width(ns)) - 1;
    if (exponent >= kLastExponent) return kBuckets - 1;
    auto step = static_cast<uint32_t>(ns >> (exponent - 3)) & (kPerDoubling - 1);
    return 1 + (exponent - kFirstExponent) * kPerDoubling + step;
  }
  /// Every duration in the bucket is below this; the last bucket has no bound (UINT64_MAX).
  static constexpr uint64_t upper_bound_ns(uint32_t bucket) noexcept {
    if (bucket >= kBuckets - 1) return UINT64_MAX;
    uint32_t exponent = kFirstExponent + bucket / kPerDoubling;
    uint64_t step = bucket % kPerDoubling;
    return (kPerDoubling + step) << (exponent - 3);
  }
  void add(uint64_t ns) noexcept {
    ++counts[bucket_of(ns)];
    ++count;
    sum_ns += ns;
  }
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
