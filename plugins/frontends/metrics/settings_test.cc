#include "frontends/metrics/settings.h"

#include <gtest/gtest.h>

#include "atoll/core/clock.h"
#include "atoll/runtime/option_table.h"
#include "frontends/metrics/testing/metrics_test_support.h"

namespace atl::frontends::metrics {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() { set_default_options(options_); }
  std::string refusal() {
    Result<MetricsSettings> settings = read_settings(options_);
    if (settings.ok()) return "accepted";
    EXPECT_EQ(settings.status().code(), Code::kInvalidArgument);
    return std::string(settings.status().message());
  }
  test::FakeOptions options_;
};

TEST_F(SettingsTest, Defaults) {
  Status table = runtime::check_option_table(kOptions);
  EXPECT_TRUE(table.ok()) << table.text();
  Result<MetricsSettings> settings = read_settings(options_);
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(settings->poll_interval_ns, kNsPerSecond);
  EXPECT_TRUE(settings->cpu_metrics);
  EXPECT_TRUE(settings->counter_latencies);
  EXPECT_FALSE(settings->summary_latencies);
  EXPECT_FALSE(settings->histogram_latencies);
  EXPECT_EQ(settings->quantiles, (std::vector<double>{0.5, 0.9, 0.95, 0.99, 0.999}));
  EXPECT_EQ(settings->duration_bounds_sec.size(), 18u);
  EXPECT_EQ(settings->duration_bounds_sec.front(), 0.0001);
  EXPECT_EQ(settings->duration_bounds_sec.back(), 60);
  EXPECT_EQ(settings->max_series, 100000u);
  EXPECT_EQ(settings->max_connections, 64u);
  EXPECT_EQ(settings->idle_timeout_ns, 75 * kNsPerSecond);
}

TEST_F(SettingsTest, BadAddress) {
  options_.set_string("address", "nowhere");
  EXPECT_NE(refusal().find("option 'address' is 'nowhere', expected host:port"), std::string::npos);
}

TEST_F(SettingsTest, Quantiles) {
  auto of = [&](std::vector<std::string> pairs) {
    options_.set_strings("summary_quantiles", std::move(pairs));
    return refusal();
  };
  EXPECT_EQ(of({"0:0", "1:1", "1e-3:0.5"}), "accepted");
  EXPECT_EQ(of({}), "accepted");
  EXPECT_EQ(of({"0.5"}),
            "option 'summary_quantiles': Invalid option: [0.5]. No ':' delimiter found. "
            "Expected format is <quantile>:<error>");
  for (std::string bad :
       {"a:0.1", "0.5:b", "1.01:0.1", "-0.1:0.1", "nan:0.1", "inf:0", "0.5:2", ":", "0.5 :0"}) {
    EXPECT_EQ(of({bad}), "option 'summary_quantiles': Invalid option: [" + bad +
                             "]. Expected format is <quantile>:<error>, both numbers from 0 to 1");
  }
  EXPECT_EQ(of({"0.5:0.1", "0.50:0.2"}),
            "option 'summary_quantiles' has quantile 0.5 twice, expected different ones");
  std::vector<std::string> many;
  for (int i = 0; i < 32; ++i) many.push_back("0.1" + std::to_string(i + 10) + ":0");
  EXPECT_EQ(of(many), "accepted");
  many.push_back("0.9:0");
  EXPECT_EQ(of(many), "option 'summary_quantiles' has 33 entries, expected at most 32");
}

TEST_F(SettingsTest, PhaseHistograms) {
  auto of = [&](std::vector<std::string> models) {
    options_.set_strings("phase_histograms", std::move(models));
    return refusal();
  };
  EXPECT_EQ(of({}), "accepted");
  EXPECT_EQ(of({"all"}), "accepted");
  EXPECT_EQ(of({"none"}), "accepted");
  EXPECT_EQ(of({"m", "/srv/a::n"}), "accepted");
  EXPECT_EQ(of({"m", "all"}), "option 'phase_histograms' has 'all' beside other entries, expected it alone");
  EXPECT_EQ(of({"none", "m"}),
            "option 'phase_histograms' has 'none' beside other entries, expected it alone");
}

TEST_F(SettingsTest, Buckets) {
  auto of = [&](std::vector<std::string> bounds) {
    options_.set_strings("duration_buckets", std::move(bounds));
    return refusal();
  };
  EXPECT_EQ(of({}), "accepted");
  EXPECT_EQ(of({"1e-6", "3600"}), "accepted");
  for (std::string bad : {"0", "-1", "x", "", "inf", "nan", "1s"}) {
    EXPECT_EQ(of({bad}),
              "option 'duration_buckets' has '" + bad + "', expected a number of seconds greater than 0");
  }
  EXPECT_EQ(of({"2", "1"}), "option 'duration_buckets' has 1 after 2, expected ascending bounds");
  EXPECT_EQ(of({"2", "2"}), "option 'duration_buckets' has 2 after 2, expected ascending bounds");
  std::vector<std::string> many;
  for (int i = 1; i <= 100; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(of(many), "accepted");
  many.push_back("101");
  EXPECT_EQ(of(many), "option 'duration_buckets' has 101 entries, expected at most 100");
}

}  // namespace
}  // namespace atl::frontends::metrics
