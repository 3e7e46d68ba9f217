#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "atoll/testing/recorded_metrics.h"
#include "atoll/triton/host.h"
#include "testing/program.h"

namespace atl::triton::test {
namespace {

struct Scrape {
  void collect(MetricSink& sink) const { collect_metrics(sink); }
};
std::map<std::string, double> shown() { return atl::test::RecordedMetrics(Scrape()).values(); }

TRITONSERVER_MetricFamily* family(TRITONSERVER_MetricKind kind, const char* name, const char* help = "help") {
  TRITONSERVER_MetricFamily* made = nullptr;
  expect_ok(TRITONSERVER_MetricFamilyNew(&made, kind, name, help));
  return made;
}

class Labels {
 public:
  Labels(std::initializer_list<std::pair<const char*, const char*>> labels) {
    for (const auto& [name, value] : labels) {
      all_.push_back(TRITONSERVER_ParameterNew(name, TRITONSERVER_PARAMETER_STRING, value));
    }
  }
  Labels(const Labels&) = delete;
  ~Labels() {
    for (TRITONSERVER_Parameter* one : all_) TRITONSERVER_ParameterDelete(one);
  }
  const TRITONSERVER_Parameter** data() { return const_cast<const TRITONSERVER_Parameter**>(all_.data()); }
  uint64_t size() const { return all_.size(); }

 private:
  std::vector<TRITONSERVER_Parameter*> all_;
};

TRITONSERVER_Metric* metric(TRITONSERVER_MetricFamily* of, Labels&& labels = {}) {
  TRITONSERVER_Metric* made = nullptr;
  expect_ok(TRITONSERVER_MetricNew(&made, of, labels.data(), labels.size()));
  return made;
}

double value_of(TRITONSERVER_Metric* metric) {
  double value = -1;
  expect_ok(TRITONSERVER_MetricValue(metric, &value));
  return value;
}

TEST(CustomMetrics, ACounterOnlyRises) {
  TRITONSERVER_MetricFamily* of = family(TRITONSERVER_METRIC_KIND_COUNTER, "c_total");
  TRITONSERVER_Metric* one = metric(of, {{"model", "m"}});
  expect_ok(TRITONSERVER_MetricIncrement(one, 2.5));
  expect_ok(TRITONSERVER_MetricIncrement(one, 0));
  EXPECT_EQ(value_of(one), 2.5);
  EXPECT_EQ(shown()["c_total{model=m}"], 2.5);
  expect_invalid(
      TRITONSERVER_MetricIncrement(one, -1),
      "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.");
  expect_invalid(TRITONSERVER_MetricIncrement(one, std::numeric_limits<double>::quiet_NaN()));
  expect_error(TRITONSERVER_MetricSet(one, 1), TRITONSERVER_ERROR_UNSUPPORTED,
               "TRITONSERVER_METRIC_KIND_COUNTER does not support Set");
  expect_error(TRITONSERVER_MetricObserve(one, 1), TRITONSERVER_ERROR_UNSUPPORTED,
               "TRITONSERVER_METRIC_KIND_COUNTER does not support Observe");
  EXPECT_EQ(value_of(one), 2.5);
  auto kind = TRITONSERVER_METRIC_KIND_GAUGE;
  expect_ok(TRITONSERVER_GetMetricKind(one, &kind));
  EXPECT_EQ(kind, TRITONSERVER_METRIC_KIND_COUNTER);
  expect_ok(TRITONSERVER_MetricDelete(one));
  expect_ok(TRITONSERVER_MetricFamilyDelete(of));
}

TEST(CustomMetrics, AGaugeTakesAnyValue) {
  TRITONSERVER_MetricFamily* of = family(TRITONSERVER_METRIC_KIND_GAUGE, "g");
  TRITONSERVER_Metric* one = metric(of);
  expect_ok(TRITONSERVER_MetricSet(one, 10));
  expect_ok(TRITONSERVER_MetricIncrement(one, -15));
  EXPECT_EQ(value_of(one), -5);
  EXPECT_EQ(shown()["g"], -5);
  expect_error(TRITONSERVER_MetricObserve(one, 1), TRITONSERVER_ERROR_UNSUPPORTED);
  expect_ok(TRITONSERVER_MetricDelete(one));
  expect_ok(TRITONSERVER_MetricFamilyDelete(of));
}

TEST(CustomMetrics, AHistogramSortsIntoBuckets) {
  TRITONSERVER_MetricFamily* of = family(TRITONSERVER_METRIC_KIND_HISTOGRAM, "h");
  TRITONSERVER_MetricArgs* args = nullptr;
  expect_ok(TRITONSERVER_MetricArgsNew(&args));
  TRITONSERVER_Metric* one = nullptr;
  expect_invalid(TRITONSERVER_MetricNewWithArgs(&one, of, nullptr, 0, args),
                 "Metric args not set to histogram kind.");
  const double bounds[] = {0.1, 1, std::numeric_limits<double>::infinity()};
  expect_ok(TRITONSERVER_MetricArgsSetHistogram(args, bounds, 3));
  Labels labels{{"model", "m"}};
  expect_ok(TRITONSERVER_MetricNewWithArgs(&one, of, labels.data(), labels.size(), args));
  expect_ok(TRITONSERVER_MetricArgsDelete(args));
  for (double value : {0.05, 0.1, 0.5, 7.0, 8.0}) expect_ok(TRITONSERVER_MetricObserve(one, value));
  expect_invalid(TRITONSERVER_MetricObserve(one, std::nan("")));
  const atl::test::RecordedMetrics scrape{Scrape()};
  ASSERT_EQ(scrape.families().size(), 1u);
  const auto& sample = scrape.families()[0].samples.at(0);
  EXPECT_EQ(scrape.families()[0].kind, MetricKind::kHistogram);
  EXPECT_EQ(sample.bounds, (std::vector<double>{0.1, 1}));
  EXPECT_EQ(sample.counts, (std::vector<uint64_t>{2, 1, 2}));
  EXPECT_DOUBLE_EQ(sample.value, 15.65);
  double value = 0;
  expect_error(TRITONSERVER_MetricValue(one, &value), TRITONSERVER_ERROR_UNSUPPORTED);
  expect_error(TRITONSERVER_MetricIncrement(one, 1), TRITONSERVER_ERROR_UNSUPPORTED);
  expect_error(TRITONSERVER_MetricSet(one, 1), TRITONSERVER_ERROR_UNSUPPORTED);
  expect_ok(TRITONSERVER_MetricDelete(one));
  expect_ok(TRITONSERVER_MetricFamilyDelete(of));
}

TEST(CustomMetrics, TheSameLabelsInAnyOrderAreOneSeries) {
  TRITONSERVER_MetricFamily* of = family(TRITONSERVER_METRIC_KIND_COUNTER, "shared_total", "first");
  TRITONSERVER_MetricFamily* again = family(TRITONSERVER_METRIC_KIND_COUNTER, "shared_total", "second");
  TRITONSERVER_Metric* one = metric(of, {{"a", "1"}, {"b", "2"}});
  TRITONSERVER_Metric* two = metric(again, {{"b", "2"}, {"a", "1"}});
  TRITONSERVER_Metric* other = metric(again, {{"a", "1"}});
  expect_ok(TRITONSERVER_MetricIncrement(one, 1));
  expect_ok(TRITONSERVER_MetricIncrement(two, 2));
  EXPECT_EQ(value_of(one), 3);
  EXPECT_EQ(value_of(other), 0);
  const atl::test::RecordedMetrics scrape{Scrape()};
  ASSERT_EQ(scrape.families().size(), 1u);
  EXPECT_EQ(scrape.families()[0].help, "first");
  EXPECT_EQ(scrape.families()[0].samples.size(), 2u);
  expect_error(TRITONSERVER_MetricFamilyDelete(of), TRITONSERVER_ERROR_INTERNAL,
               "Must call MetricDelete on all dependent metrics before calling MetricFamilyDelete.");
  expect_ok(TRITONSERVER_MetricDelete(one));
  expect_ok(TRITONSERVER_MetricFamilyDelete(of));
  EXPECT_EQ(value_of(two), 3) << "it is still in use";
  expect_error(TRITONSERVER_MetricFamilyDelete(again), TRITONSERVER_ERROR_INTERNAL);
  expect_ok(TRITONSERVER_MetricDelete(two));
  expect_ok(TRITONSERVER_MetricDelete(other));
  expect_ok(TRITONSERVER_MetricFamilyDelete(again));
  EXPECT_TRUE(shown().empty()) << "a family without series is not shown";
}

TEST(CustomMetrics, MisuseIsAnError) {
  TRITONSERVER_MetricFamily* of = nullptr;
  expect_invalid(TRITONSERVER_MetricFamilyNew(&of, static_cast<TRITONSERVER_MetricKind>(3), "k", "help"),
                 "Unsupported kind passed to MetricFamily constructor.");
  for (const char* name : {"", "1a", "a-b", "a b"}) {
    expect_invalid(TRITONSERVER_MetricFamilyNew(&of, TRITONSERVER_METRIC_KIND_GAUGE, name, "help"));
    EXPECT_EQ(of, nullptr);
  }
  of = family(TRITONSERVER_METRIC_KIND_GAUGE, "ns:misused");
  TRITONSERVER_MetricFamily* other = nullptr;
  expect_invalid(TRITONSERVER_MetricFamilyNew(&other, TRITONSERVER_METRIC_KIND_COUNTER, "ns:misused", "help"),
                 "metric family 'ns:misused' is registered with another kind");
  TRITONSERVER_Metric* made = nullptr;
  for (const char* name : {"", "a:b", "__a", "1"}) {
    Labels labels{{name, "x"}};
    expect_invalid(TRITONSERVER_MetricNew(&made, of, labels.data(), labels.size()));
  }
  Labels twice{{"a", "x"}, {"a", "y"}};
  expect_invalid(TRITONSERVER_MetricNew(&made, of, twice.data(), 2), "label 'a' is there twice");
  const int64_t number = 1;
  TRITONSERVER_Parameter* wrong = TRITONSERVER_ParameterNew("n", TRITONSERVER_PARAMETER_INT, &number);
  const TRITONSERVER_Parameter* labels[] = {wrong, nullptr};
  expect_invalid(TRITONSERVER_MetricNew(&made, of, labels, 1),
                 "Parameter [n] must have a type of TRITONSERVER_PARAMETER_STRING to be added as a label.");
  expect_invalid(TRITONSERVER_MetricNew(&made, of, labels + 1, 1), "label 0 of a metric is null");
  TRITONSERVER_ParameterDelete(wrong);
  TRITONSERVER_MetricArgs* args = nullptr;
  expect_ok(TRITONSERVER_MetricArgsNew(&args));
  expect_invalid(TRITONSERVER_MetricNewWithArgs(&made, of, nullptr, 0, args),
                 "Unexpected args found in gauge Metric constructor.");
  TRITONSERVER_MetricFamily* histograms = family(TRITONSERVER_METRIC_KIND_HISTOGRAM, "misused_histogram");
  for (auto bounds : {std::array{2.0, 1.0}, std::array{1.0, 1.0}, std::array{std::nan(""), 1.0}}) {
    expect_ok(TRITONSERVER_MetricArgsSetHistogram(args, bounds.data(), 2));
    expect_invalid(TRITONSERVER_MetricNewWithArgs(&made, histograms, nullptr, 0, args));
  }
  const double bound = 1;
  expect_ok(TRITONSERVER_MetricArgsSetHistogram(args, &bound, 1));
  Labels le{{"le", "x"}};
  expect_invalid(TRITONSERVER_MetricNewWithArgs(&made, histograms, le.data(), 1, args));
  expect_invalid(TRITONSERVER_MetricNew(&made, histograms, nullptr, 0),
                 "Bucket boundaries not found in Metric args.");
  expect_ok(TRITONSERVER_MetricArgsDelete(args));
  expect_ok(TRITONSERVER_MetricArgsDelete(nullptr));
  expect_ok(TRITONSERVER_MetricFamilyDelete(of));
  expect_ok(TRITONSERVER_MetricFamilyDelete(histograms));
  EXPECT_EQ(made, nullptr);
  for (TRITONSERVER_Error* error :
       {TRITONSERVER_MetricFamilyNew(nullptr, TRITONSERVER_METRIC_KIND_GAUGE, "a", "b"),
        TRITONSERVER_MetricFamilyDelete(nullptr), TRITONSERVER_MetricDelete(nullptr),
        TRITONSERVER_MetricIncrement(nullptr, 1), TRITONSERVER_MetricValue(nullptr, nullptr),
        TRITONSERVER_MetricArgsSetHistogram(nullptr, nullptr, 0),
        TRITONSERVER_MetricNew(&made, nullptr, nullptr, 0)}) {
    expect_invalid(error);
  }
}

TEST(CustomMetrics, ThreadsCountTogetherWhileOthersScrape) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  TRITONSERVER_MetricFamily* keeps = family(TRITONSERVER_METRIC_KIND_COUNTER, "threads_total");
  TRITONSERVER_Metric* kept = metric(keeps, {{"a", "1"}});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < kRounds; ++round) {
        TRITONSERVER_MetricFamily* of = family(TRITONSERVER_METRIC_KIND_COUNTER, "threads_total");
        TRITONSERVER_Metric* one = metric(of, {{"a", "1"}});
        TRITONSERVER_Metric* own = metric(of, {{"a", "2"}});
        expect_ok(TRITONSERVER_MetricIncrement(one, 1));
        if (round % 50 == 0) shown();
        expect_ok(TRITONSERVER_MetricDelete(own));
        expect_ok(TRITONSERVER_MetricDelete(one));
        expect_ok(TRITONSERVER_MetricFamilyDelete(of));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value_of(kept), kThreads * kRounds);
  expect_ok(TRITONSERVER_MetricDelete(kept));
  expect_ok(TRITONSERVER_MetricFamilyDelete(keeps));
}

TEST(CustomMetrics, OfSeveralScopesTheOldestShowsThem) {
  TRITONSERVER_MetricFamily* made = family(TRITONSERVER_METRIC_KIND_GAUGE, "scoped");
  TRITONSERVER_Metric* metric = nullptr;
  expect_ok(TRITONSERVER_MetricNew(&metric, made, nullptr, 0));
  const auto shows = [](const MetricScope& scope) {
    return atl::test::RecordedMetrics(scope).values().contains("scoped");
  };
  auto oldest = std::make_unique<MetricScope>();
  MetricScope middle;
  {
    const MetricScope youngest;
    EXPECT_TRUE(shows(*oldest));
    EXPECT_FALSE(shows(middle));
    EXPECT_FALSE(shows(youngest));
    oldest.reset();
    EXPECT_TRUE(shows(middle));
    EXPECT_FALSE(shows(youngest));
  }
  EXPECT_TRUE(shows(middle));
  expect_ok(TRITONSERVER_MetricDelete(metric));
  expect_ok(TRITONSERVER_MetricFamilyDelete(made));
}

}  // namespace
}  // namespace atl::triton::test
