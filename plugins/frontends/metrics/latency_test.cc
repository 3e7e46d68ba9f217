/// Histogram views, quantiles and the windows of the summaries.
#include <gtest/gtest.h>

#include <cmath>

#include "frontends/metrics/latency_view.h"
#include "frontends/metrics/latency_windows.h"

namespace atl::frontends::metrics {
namespace {

constexpr double kMsUnit = 1e6;

TEST(LatencyViewTest, BoundsOfTheHistogramsOwnBucketsAreExact) {
  LatencyHistogram histogram;
  histogram.add(1023);
  histogram.add(1024);
  histogram.add(2047);
  histogram.add(2048);
  EXPECT_EQ(count_up_to(histogram, 0), 0u);
  EXPECT_EQ(count_up_to(histogram, 1024), 1u);
  EXPECT_EQ(count_up_to(histogram, 2048), 3u);
  EXPECT_EQ(count_up_to(histogram, 4096), 4u);
}

TEST(LatencyViewTest, ABoundInsideABucketGetsItsShare) {
  LatencyHistogram histogram;
  for (int i = 0; i < 100; ++i) histogram.add(1024);  // the bucket from 1024 to 1152
  EXPECT_EQ(count_up_to(histogram, 1024 + 64), 50u);
  EXPECT_EQ(count_up_to(histogram, 1024 + 32), 25u);
}

TEST(LatencyViewTest, DurationsBeyondTheLastBucketAreOnlyInTheWhole) {
  LatencyHistogram histogram;
  histogram.add(200'000 * kNsPerMs);
  EXPECT_EQ(count_up_to(histogram, 1e18), 0u);
  const double bounds[] = {60'000, 1e12};
  auto view = histogram_view(histogram, bounds, kMsUnit, false);
  ASSERT_EQ(view.bucket.size(), 3u);
  EXPECT_EQ(view.bucket[1].cumulative_count, 0u);
  EXPECT_EQ(view.bucket[2].cumulative_count, 1u);
  EXPECT_TRUE(std::isinf(view.bucket[2].upper_bound));
}

TEST(LatencyViewTest, CountsNeverFallFromBoundToBoundAndStayCloseToTheTruth) {
  LatencyHistogram histogram;
  for (uint64_t us = 1; us <= 200'000; us += 7) histogram.add(us * 1000);
  uint64_t last = 0;
  for (double bound_us = 1; bound_us < 400'000; bound_us *= 1.013) {
    const uint64_t count = count_up_to(histogram, bound_us * 1000);
    EXPECT_GE(count, last);
    EXPECT_LE(count, histogram.count);
    const double truth = std::min(bound_us, 200'000.0) / 7;
    EXPECT_NEAR(static_cast<double>(count), truth, 0.125 * truth + 2) << bound_us;
    last = count;
  }
  EXPECT_EQ(last, histogram.count);
}

TEST(LatencyViewTest, TheSumIsInUnits) {
  LatencyHistogram histogram;
  histogram.add(1'500'000);
  const double bounds[] = {1, 2};
  auto whole = histogram_view(histogram, bounds, kMsUnit, true);
  EXPECT_EQ(whole.sample_sum, 1);
  EXPECT_EQ(whole.sample_count, 1u);
  EXPECT_EQ(whole.bucket[0].cumulative_count, 0u);
  EXPECT_EQ(whole.bucket[1].cumulative_count, 1u);
  EXPECT_EQ(histogram_view(histogram, bounds, kMsUnit, false).sample_sum, 1.5);
}

TEST(LatencyViewTest, Quantiles) {
  LatencyHistogram histogram;
  EXPECT_TRUE(std::isnan(quantile_ns(histogram, 0.5)));
  histogram.add(10 * kNsPerMs);
  for (double quantile : {0.0, 0.5, 1.0}) EXPECT_NEAR(quantile_ns(histogram, quantile), 1e7, 0.07e7);
  for (int i = 0; i < 98; ++i) histogram.add(10 * kNsPerMs);
  histogram.add(500 * kNsPerMs);
  EXPECT_NEAR(quantile_ns(histogram, 0.5), 1e7, 0.07e7);
  EXPECT_NEAR(quantile_ns(histogram, 0.99), 1e7, 0.07e7);
  EXPECT_NEAR(quantile_ns(histogram, 0.995), 5e8, 0.07 * 5e8);
  EXPECT_NEAR(quantile_ns(histogram, 1), 5e8, 0.07 * 5e8);
}

TEST(LatencyViewTest, QuantilesOfEvenlySpreadDurations) {
  LatencyHistogram histogram;
  for (uint64_t us = 1; us <= 100'000; ++us) histogram.add(us * 1000);
  for (double quantile : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    EXPECT_NEAR(quantile_ns(histogram, quantile), quantile * 1e8, 0.07 * quantile * 1e8) << quantile;
  }
}

TEST(LatencyViewTest, QuantilesAtTheEndsOfTheHistogram) {
  LatencyHistogram histogram;
  histogram.add(0);
  EXPECT_LE(quantile_ns(histogram, 0.5), 1024);
  LatencyHistogram late;
  late.add(UINT64_MAX / 2);
  EXPECT_EQ(quantile_ns(late, 0.5), std::exp2(37));
}

TEST(LatencyViewTest, DifferenceNeverGoesBelowZero) {
  LatencyHistogram before, now;
  before.add(5000);
  now.add(5000);
  now.add(5000);
  EXPECT_EQ(difference(now, before).count, 1u);
  EXPECT_EQ(difference(now, before).sum_ns, 5000u);
  EXPECT_EQ(difference(before, now).count, 0u);
  EXPECT_EQ(count_up_to(difference(before, now), 1e9), 0u);
}

class LatencyWindowsTest : public ::testing::Test {
 protected:
  static ModelStatistics version(const std::string& name, uint64_t load_ns = 1) {
    ModelStatistics model;
    model.name = name;
    model.version = 1;
    model.load_duration_ns = load_ns;
    return model;
  }
  uint64_t recent(const ModelStatistics& model) const { return windows_.recent(model).total.count; }
  LatencyWindows windows_;
};

TEST_F(LatencyWindowsTest, UnknownVersionsShowAllTheyHave) {
  ModelStatistics model = version("m");
  model.latencies.total.add(kNsPerMs);
  EXPECT_EQ(recent(model), 1u);
  windows_.observe({model}, 0);
  EXPECT_EQ(recent(model), 1u) << "what came before the first look is not lost";
}

TEST_F(LatencyWindowsTest, WhatIsOlderThanTheWindowLeavesIt) {
  ModelStatistics model = version("m");
  windows_.observe({model}, 0);
  model.latencies.total.add(kNsPerMs);
  for (int64_t second = 1; second <= 60; ++second) {
    windows_.observe({model}, second * kNsPerSecond);
    EXPECT_EQ(recent(model), 1u) << second;
  }
  model.latencies.total.add(kNsPerMs);
  for (int64_t second = 61; second <= 71; ++second) windows_.observe({model}, second * kNsPerSecond);
  EXPECT_EQ(recent(model), 1u) << "the first has left, the second has not";
  for (int64_t second = 72; second <= 140; ++second) windows_.observe({model}, second * kNsPerSecond);
  EXPECT_EQ(recent(model), 0u);
  EXPECT_TRUE(std::isnan(quantile_ns(windows_.recent(model).total, 0.5)));
}

TEST_F(LatencyWindowsTest, AVersionLoadedAnewStartsAnew) {
  ModelStatistics model = version("m");
  model.latencies.total.add(kNsPerMs);
  for (int64_t second = 0; second <= 100; ++second) windows_.observe({model}, second * kNsPerSecond);
  EXPECT_EQ(recent(model), 0u);
  ModelStatistics again = version("m", 2);
  again.latencies.total.add(kNsPerMs);
  EXPECT_EQ(recent(again), 1u) << "before the next look";
  windows_.observe({again}, 101 * kNsPerSecond);
  EXPECT_EQ(recent(again), 1u) << "after it";
  ModelStatistics same_time = version("m", 2);
  EXPECT_EQ(recent(same_time), 0u) << "counts that went back";
}

TEST_F(LatencyWindowsTest, VersionsThatWentAreForgotten) {
  windows_.observe({version("a"), version("b")}, 0);
  EXPECT_EQ(windows_.size(), 2u);
  windows_.observe({version("b")}, kNsPerSecond);
  EXPECT_EQ(windows_.size(), 1u);
  windows_.observe({}, 2 * kNsPerSecond);
  EXPECT_EQ(windows_.size(), 0u);
}

}  // namespace
}  // namespace atl::frontends::metrics
