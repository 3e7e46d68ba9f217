#include "frontends/metrics/native_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace atl::frontends::metrics {
namespace {

/// The counts by bucket, as a reader finds them.
std::map<int32_t, int64_t> counts_of(const NativeHistogram& histogram) {
  std::map<int32_t, int64_t> counts;
  int32_t bucket = 0;
  int64_t count = 0;
  size_t next = 0;
  for (const NativeHistogram::Span& span : histogram.spans) {
    bucket += span.offset;
    for (uint32_t i = 0; i < span.length; ++i) {
      count += histogram.deltas.at(next++);
      counts[bucket++] = count;
    }
  }
  EXPECT_EQ(next, histogram.deltas.size());
  return counts;
}

TEST(NativeHistogramTest, WithoutDurationsThereAreNoBuckets) {
  const NativeHistogram native = native_histogram({});
  EXPECT_EQ(native.zero_count, 0u);
  EXPECT_TRUE(native.spans.empty());
  EXPECT_TRUE(native.deltas.empty());
}

TEST(NativeHistogramTest, ShortDurationsAreInTheZeroBucket) {
  LatencyHistogram latencies;
  latencies.add(0);
  latencies.add(1023);
  const NativeHistogram native = native_histogram(latencies);
  EXPECT_EQ(native.zero_count, 2u);
  EXPECT_TRUE(native.spans.empty());
}

TEST(NativeHistogramTest, NeighboursShareASpan) {
  LatencyHistogram latencies;
  latencies.add(1'000'000);
  latencies.add(1'100'000);
  latencies.add(1'100'000);
  latencies.add(1'000'000'000);
  const NativeHistogram native = native_histogram(latencies);
  ASSERT_EQ(native.spans.size(), 2u);
  EXPECT_EQ(native.spans[0].length, 2u);
  EXPECT_EQ(native.deltas, (std::vector<int64_t>{1, 1, -1}));
}

/// A bucket that shrinks is a restart to a reader, and a duration far from its bucket a wrong quantile.
TEST(NativeHistogramTest, EachDurationIsAtMostOneBucketAwayAndNoCountEverShrinks) {
  std::mt19937_64 random(3);
  LatencyHistogram latencies;
  std::map<int32_t, int64_t> before;
  for (int i = 0; i < 4'000; ++i) {
    const uint64_t ns = random() >> (27 + random() % 28);
    if (ns >= (uint64_t{1} << LatencyHistogram::kLastExponent)) continue;
    latencies.add(ns);
    const std::map<int32_t, int64_t> now = counts_of(native_histogram(latencies));
    int32_t grown = INT32_MIN;
    for (const auto& [bucket, count] : now) {
      const int64_t earlier = before.contains(bucket) ? before[bucket] : 0;
      ASSERT_GE(count, earlier);
      if (count > earlier) grown = bucket;
    }
    if (ns >= 1024) {
      const double true_bucket = std::ceil(std::log2(static_cast<double>(ns) * 1e-9) * 8);
      ASSERT_LE(std::abs(grown - true_bucket), 1) << ns;
    }
    before = now;
  }
  int64_t sum = static_cast<int64_t>(native_histogram(latencies).zero_count);
  for (const auto& [bucket, count] : before) sum += count;
  EXPECT_EQ(sum, static_cast<int64_t>(latencies.count));
}

TEST(NativeHistogramTest, EveryBucketHasAPlaceAndOrderIsKept) {
  LatencyHistogram latencies;
  for (uint32_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
    latencies.counts[i] = 1;
    ++latencies.count;
  }
  const std::map<int32_t, int64_t> counts = counts_of(native_histogram(latencies));
  int64_t sum = 1;  // the zero bucket's
  for (const auto& [bucket, count] : counts) sum += count;
  EXPECT_EQ(sum, static_cast<int64_t>(LatencyHistogram::kBuckets));
  // 137 s and more: 2^7.1 s.
  EXPECT_EQ(counts.rbegin()->first, 58);
}

}  // namespace
}  // namespace atl::frontends::metrics
