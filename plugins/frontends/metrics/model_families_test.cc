/// What models show, and how their configurations shape it.
#include "frontends/metrics/model_families.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_log.h"
#include "frontends/metrics/testing/metrics_test_support.h"
#include "model_config.pb.h"

namespace atl::frontends::metrics {
namespace {

constexpr uint64_t kMs = 1'000'000;

std::string little_endian(double value) {
  std::string bytes(sizeof value, 0);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

class ModelFamiliesTest : public ::testing::Test {
 protected:
  ModelFamiliesTest() {
    settings_.counter_latencies = true;
    settings_.quantiles = {0.5, 0.99};
    settings_.max_series = 100;
    model_.name = "m";
    model_.version = 3;
    model_.success = {.count = 7, .ns = 7'003'948};
    model_.queue = {.count = 7, .ns = 1'000'999};
    model_.compute_input = {.count = 7, .ns = 2'000'000};
    model_.compute_infer = {.count = 7, .ns = 3'000'000};
    model_.compute_output = {.count = 7, .ns = 999};
    model_.cache_hit = {.count = 2, .ns = 5'000};
    model_.cache_miss = {.count = 1, .ns = 6'000};
    model_.inference_count = 21;
    model_.execution_count = 5;
    model_.failures[0] = 1;
    model_.failures[3] = 4;
    model_.pending = 2;
    model_.load_duration_ns = 1'500 * kMs;
  }
  std::string text(const LatencyHistograms* recent = nullptr) { return page(PageFormat::kText, recent); }
  std::string page(PageFormat format, const LatencyHistograms* recent = nullptr) {
    Page page(settings_.max_series, format);
    ModelFamilies families(page, settings_);
    families.add(model_, read_model_facts(model_.name, model_.version, config_.SerializeAsString(), log_),
                 recent);
    return page.text();
  }
  MetricsSettings settings_;
  ModelStatistics model_;
  inference::ModelConfig config_;
  test::RecordingLog log_;
};

TEST_F(ModelFamiliesTest, CountersAndGaugesToTheByte) {
  const std::string page = text();
  const std::string labels = R"({model="m",version="3"} )";
  EXPECT_EQ(
      page.find(
          "# HELP nv_inference_request_success Number of successful inference requests, all batch sizes\n"
          "# TYPE nv_inference_request_success counter\n"
          "nv_inference_request_success" +
          labels +
          "7\n"
          "# HELP nv_inference_request_failure Number of failed inference requests, all batch sizes\n"
          "# TYPE nv_inference_request_failure counter\n"
          "nv_inference_request_failure{model=\"m\",reason=\"REJECTED\",version=\"3\"} 1\n"
          "nv_inference_request_failure{model=\"m\",reason=\"CANCELED\",version=\"3\"} 0\n"
          "nv_inference_request_failure{model=\"m\",reason=\"BACKEND\",version=\"3\"} 0\n"
          "nv_inference_request_failure{model=\"m\",reason=\"OTHER\",version=\"3\"} 4\n"),
      0u)
      << page;
  for (const char* line :
       {"nv_inference_count{} 21", "nv_inference_exec_count{} 5", "nv_inference_pending_request_count{} 2",
        "nv_model_load_duration_secs{} 1.5", "nv_inference_request_duration_us{} 7003",
        "nv_inference_queue_duration_us{} 1000", "nv_inference_compute_input_duration_us{} 2000",
        "nv_inference_compute_infer_duration_us{} 3000", "nv_inference_compute_output_duration_us{} 0"}) {
    std::string expected = line;
    expected.replace(expected.find("{} "), 3, labels);
    EXPECT_TRUE(has_line(page, expected)) << expected;
  }
  EXPECT_TRUE(has_line(page, "# TYPE nv_inference_pending_request_count gauge"));
  EXPECT_EQ(page.find("nv_cache"), std::string::npos);
  EXPECT_EQ(page.find("summary"), std::string::npos);
  EXPECT_EQ(page.find("histogram"), std::string::npos);
}

TEST_F(ModelFamiliesTest, WithoutCounterLatenciesTheRequestsStillCount) {
  settings_.counter_latencies = false;
  config_.mutable_response_cache()->set_enable(true);
  const std::string page = text();
  EXPECT_EQ(page.find("duration_us"), std::string::npos);
  EXPECT_EQ(page.find("nv_cache"), std::string::npos);
  EXPECT_TRUE(has_line(page, R"(nv_inference_request_success{model="m",version="3"} 7)"));
  EXPECT_TRUE(has_line(page, R"(nv_inference_exec_count{model="m",version="3"} 5)"));
}

TEST_F(ModelFamiliesTest, CacheFamiliesOfModelsWithAResponseCache) {
  config_.mutable_response_cache()->set_enable(true);
  settings_.summary_latencies = true;
  model_.latencies.queue.add(kMs);
  const std::string page = text(&model_.latencies);
  EXPECT_TRUE(has_line(page, R"(nv_cache_num_hits_per_model{model="m",version="3"} 2)"));
  EXPECT_TRUE(has_line(page, R"(nv_cache_num_misses_per_model{model="m",version="3"} 1)"));
  EXPECT_TRUE(has_line(page, R"(nv_cache_hit_duration_per_model{model="m",version="3"} 5)"));
  EXPECT_TRUE(has_line(page, R"(nv_cache_miss_duration_per_model{model="m",version="3"} 6)"));
  EXPECT_EQ(page.find("nv_inference_request_summary_us"), std::string::npos);
  EXPECT_NE(page.find("nv_inference_queue_summary_us_count"), std::string::npos);
}

TEST_F(ModelFamiliesTest, TagsAreLabelsInOrder) {
  (*config_.mutable_metric_tags())["Zone"] = "a\"b\\c\nd";
  (*config_.mutable_metric_tags())["team"] = "blue";
  (*config_.mutable_metric_tags())["not-a-label"] = "x";
  (*config_.mutable_metric_tags())["_reserved"] = "x";
  const std::string page = text();
  EXPECT_TRUE(
      has_line(page, R"(nv_inference_count{_Zone="a\"b\\c\nd",_team="blue",model="m",version="3"} 21)"));
  EXPECT_TRUE(has_line(
      page,
      R"(nv_inference_request_failure{_Zone="a\"b\\c\nd",_team="blue",model="m",reason="OTHER",version="3"} 4)"));
  EXPECT_TRUE(
      log_.contains("model 'm': metric tag 'not-a-label' is left out; expected letters, digits and "
                    "underscores, with none first"));
  EXPECT_TRUE(log_.contains("metric tag '_reserved' is left out"));
}

TEST_F(ModelFamiliesTest, NamesThatAreHardToWrite) {
  model_.name = "m\"\\\n\xff";
  EXPECT_TRUE(has_line(text(), "nv_inference_count{model=\"m\\\"\\\\\\n\xef\xbf\xbd\",version=\"3\"} 21"));
}

TEST_F(ModelFamiliesTest, AConfigurationThatCanNotBeReadHasNoTags) {
  const ModelFacts facts = read_model_facts("m", 1, "\xff\xff", log_);
  EXPECT_EQ(facts.labels.size(), 2u);
  EXPECT_TRUE(log_.contains("model 'm': its configuration cannot be read; its metrics have no tags"));
}

TEST_F(ModelFamiliesTest, FirstResponseHistogram) {
  settings_.histogram_latencies = true;
  EXPECT_EQ(text().find("nv_inference_first_response_histogram_ms"), std::string::npos)
      << "of decoupled models only";
  config_.mutable_model_transaction_policy()->set_decoupled(true);
  model_.latencies.first_response.add(50 * kMs);
  model_.latencies.first_response.add(300 * kMs);
  model_.latencies.first_response.add(9'000 * kMs + 1);
  const std::string name = "nv_inference_first_response_histogram_ms";
  EXPECT_NE(text().find("# TYPE " + name + " histogram\n" + name + "_count{model=\"m\",version=\"3\"} 3\n" +
                        name + "_sum{model=\"m\",version=\"3\"} 9350\n" + name +
                        "_bucket{model=\"m\",version=\"3\",le=\"100\"} 1\n" + name +
                        "_bucket{model=\"m\",version=\"3\",le=\"500\"} 2\n" + name +
                        "_bucket{model=\"m\",version=\"3\",le=\"2000\"} 2\n" + name +
                        "_bucket{model=\"m\",version=\"3\",le=\"5000\"} 2\n" + name +
                        "_bucket{model=\"m\",version=\"3\",le=\"+Inf\"} 3\n"),
            std::string::npos)
      << text();
}

TEST_F(ModelFamiliesTest, TheConfigurationSetsTheBucketsOfTheFirstResponse) {
  auto buckets = [&](std::initializer_list<double> bounds, const char* family) {
    config_.clear_model_metrics();
    auto* control = config_.mutable_model_metrics()->add_metric_control();
    control->mutable_metric_identifier()->set_family(family);
    for (double bound : bounds) control->mutable_histogram_options()->add_buckets(bound);
    return read_model_facts("m", 1, config_.SerializeAsString(), log_).first_response_bounds_ms;
  };
  constexpr auto kFamily = "nv_inference_first_response_histogram_ms";
  const std::vector<double> defaults = {100, 500, 2000, 5000};
  EXPECT_EQ(buckets({1, 2.5, 1e6}, kFamily), (std::vector<double>{1, 2.5, 1e6}));
  EXPECT_EQ(buckets({}, kFamily), defaults);
  EXPECT_EQ(log_.records().size(), 0u);
  EXPECT_EQ(buckets({1, 2}, "another"), defaults);
  EXPECT_EQ(log_.count(LogLevel::kWarning,
                       "model 'm': metric family 'another' in model_metrics is not customizable; expected "
                       "nv_inference_first_response_histogram_ms"),
            1u);
  EXPECT_EQ(buckets({2, 1}, kFamily), defaults);
  EXPECT_EQ(buckets({1, 1}, kFamily), defaults);
  EXPECT_EQ(buckets({1, std::numeric_limits<double>::infinity()}, kFamily), defaults);
  EXPECT_EQ(buckets({std::numeric_limits<double>::quiet_NaN()}, kFamily), defaults);
  EXPECT_EQ(log_.count(
                LogLevel::kWarning,
                "model 'm': the buckets of nv_inference_first_response_histogram_ms in model_metrics are not "
                "used; expected at most 100 finite, ascending bounds"),
            4u);
}

TEST_F(ModelFamiliesTest, SummariesCountEverythingAndTakeTheQuantilesFromTheWindow) {
  settings_.summary_latencies = true;
  for (int i = 0; i < 10; ++i) model_.latencies.queue.add(10 * kMs);
  LatencyHistograms recent;
  recent.queue.add(1024 * 1024);
  const std::string page = text(&recent);
  EXPECT_TRUE(has_line(page, "# TYPE nv_inference_queue_summary_us summary"));
  EXPECT_TRUE(has_line(page, R"(nv_inference_queue_summary_us_count{model="m",version="3"} 10)"));
  EXPECT_TRUE(has_line(page, R"(nv_inference_queue_summary_us_sum{model="m",version="3"} 100000)"));
  // The middle of the bucket from 2^20 to 9/8 * 2^20 ns.
  EXPECT_TRUE(
      has_line(page, R"(nv_inference_queue_summary_us{model="m",version="3",quantile="0.5"} 1114.112)"));
  EXPECT_TRUE(
      has_line(page, R"(nv_inference_request_summary_us{model="m",version="3",quantile="0.99"} Nan)"));
  for (const char* phase : {"request", "queue", "compute_input", "compute_infer", "compute_output"}) {
    EXPECT_EQ(lines_with(page, "nv_inference_" + std::string(phase) + "_summary_us{"), 2u) << phase;
  }
}

TEST_F(ModelFamiliesTest, TritonsDistributionsAreThereBeforeTheFirstRequest) {
  settings_.summary_latencies = true;
  settings_.histogram_latencies = true;
  config_.mutable_model_transaction_policy()->set_decoupled(true);
  const std::string page = text(&model_.latencies);
  for (const char* phase : {"request", "queue", "compute_input", "compute_infer", "compute_output"}) {
    const std::string name = cat("nv_inference_", phase, "_summary_us");
    EXPECT_TRUE(has_line(page, cat(name, R"(_count{model="m",version="3"} 0)"))) << name;
    EXPECT_TRUE(has_line(page, cat(name, R"({model="m",version="3",quantile="0.5"} Nan)"))) << name;
  }
  EXPECT_TRUE(has_line(page, R"(nv_inference_first_response_histogram_ms_count{model="m",version="3"} 0)"));
  EXPECT_EQ(page.find("nv_cache_"), std::string::npos) << "without a response cache";
}

TEST_F(ModelFamiliesTest, SummariesOfTheCacheAreCountsAndSums) {
  settings_.summary_latencies = true;
  config_.mutable_response_cache()->set_enable(true);
  const std::string page = text(&model_.latencies);
  EXPECT_TRUE(has_line(page, "# TYPE nv_cache_hit_summary_per_model summary"));
  EXPECT_TRUE(has_line(page, R"(nv_cache_hit_summary_per_model_count{model="m",version="3"} 2)"));
  EXPECT_TRUE(has_line(page, R"(nv_cache_hit_summary_per_model_sum{model="m",version="3"} 5)"));
  EXPECT_TRUE(has_line(page, R"(nv_cache_miss_summary_per_model_count{model="m",version="3"} 1)"));
  EXPECT_TRUE(has_line(page, R"(nv_cache_miss_summary_per_model_sum{model="m",version="3"} 6)"));
  EXPECT_EQ(page.find("nv_inference_request_summary_us_count"), std::string::npos) << "as Triton has it";
}

TEST_F(ModelFamiliesTest, AVersionThatWasNeverUsedHasNoDurations) {
  settings_.summary_latencies = true;
  settings_.duration_bounds_sec = {0.0001, 0.001, 0.25, 60};
  settings_.phases.all = true;
  const std::string page = text(&model_.latencies);
  const char* family = "atoll_inference_queue_duration_seconds";
  EXPECT_EQ(lines_with(page, std::string("# TYPE ") + family), 1u) << family;
  EXPECT_EQ(lines_with(page, std::string("# HELP ") + family), 1u) << family;
  EXPECT_EQ(page.find(cat("\n", family, "{")), std::string::npos);
  EXPECT_EQ(page.find(cat("\n", family, "_")), std::string::npos);
  EXPECT_TRUE(has_line(page, R"(nv_inference_compute_output_duration_us{model="m",version="3"} 0)"));
  // Requests that failed before they were answered are no latencies, an answer that came early is one.
  model_.latencies.first_response.add(kMs);
  const std::string answered = text(&model_.latencies);
  EXPECT_TRUE(has_line(answered, R"(nv_inference_queue_summary_us_count{model="m",version="3"} 0)"));
  EXPECT_TRUE(has_line(answered, R"(atoll_inference_queue_duration_seconds_count{model="m",version="3"} 0)"));
}

/// Of 10,000 models none of which was used: the bound of a page that a scraper takes in a second.
TEST_F(ModelFamiliesTest, AVersionThatWasNeverUsedTakesLittleRoom) {
  settings_.duration_bounds_sec = {0.0001, 0.001, 0.25, 60};
  settings_.phases.all = true;
  settings_.max_series = 1000;
  Page page(settings_.max_series);
  ModelFamilies families(page, settings_);
  constexpr size_t kModels = 100;
  for (size_t i = 0; i < kModels; ++i) {
    ModelStatistics unused;
    unused.name = cat("identity_0", 1000 + i);
    unused.version = 1;
    unused.load_duration_ns = 12'345'678;
    families.add(unused, read_model_facts(unused.name, unused.version, "", log_), nullptr);
  }
  EXPECT_LT(page.text().size(), kModels * 1200);
}

TEST_F(ModelFamiliesTest, DurationHistogramsInSeconds) {
  settings_.duration_bounds_sec = {0.0001, 0.001, 0.25, 60};
  settings_.phases.models = {"other", "m"};
  model_.latencies.total.add(500'000);
  model_.latencies.total.add(100 * kMs);
  const std::string page = text();
  const std::string name = "atoll_inference_request_duration_seconds";
  EXPECT_TRUE(has_line(page, name + R"(_bucket{model="m",version="3",le="0.0001"} 0)"));
  EXPECT_TRUE(has_line(page, name + R"(_bucket{model="m",version="3",le="0.001"} 1)"));
  EXPECT_TRUE(has_line(page, name + R"(_bucket{model="m",version="3",le="0.25"} 2)"));
  EXPECT_TRUE(has_line(page, name + R"(_bucket{model="m",version="3",le="+Inf"} 2)"));
  EXPECT_TRUE(has_line(page, name + R"(_sum{model="m",version="3"} 0.1005)"));
  for (const char* phase :
       {"queue", "compute_input", "compute_infer", "compute_output", "request", "first_response"}) {
    EXPECT_TRUE(
        has_line(page, "# TYPE atoll_inference_" + std::string(phase) + "_duration_seconds histogram"));
  }
  settings_.phases.models = {"other"};
  EXPECT_EQ(text().find("atoll_"), std::string::npos);
}

/// The message of a native histogram, to the byte: six fields and the labels.
TEST_F(ModelFamiliesTest, AProtobufPageHasNativeHistograms) {
  settings_.duration_bounds_sec = {0.001};
  model_.latencies.queue.add(1000);
  model_.latencies.queue.add(1 << 20);
  model_.latencies.queue.add(1 << 20);
  const std::string labels = std::string("\n\n\n\x05model\x12\x01m") + "\n\x0c\n\x07version\x12\x01\x33";
  const std::string sum = std::string("\x11") + little_endian(0.002098152);
  const std::string zero = std::string("\x31") + little_endian(1024e-9);
  // 2^20 ns are between 2^-9.9 s and 2^-9.8 s: bucket -78, in zigzag 155.
  const std::string native =
      std::string("\x28\x06") + zero + "\x38\x01" + "\x62\x05\x08\x9b\x01\x10\x01" + "\x6a\x01\x04";
  const std::string histogram = std::string("\x08\x03") + sum + native;
  const std::string sample = labels + "\x3a" + static_cast<char>(histogram.size()) + histogram;
  const std::string all = page(PageFormat::kProtobuf);
  EXPECT_NE(all.find(std::string("\x18\x04\x22") + static_cast<char>(sample.size()) + sample),
            std::string::npos);
  EXPECT_EQ(all.find("\x1a\x0b\x08"), std::string::npos) << "no bucket with a bound";
  settings_.phases.all = true;
  EXPECT_NE(page(PageFormat::kProtobuf).find(std::string("\x1a\x0b\x08\x01\x11") + little_endian(0.001)),
            std::string::npos);
}

TEST(ModelFactsCacheTest, ReadsAConfigurationOnceAndAgainWhenItIsAnother) {
  test::RecordingLog log;
  test::FakeModelCatalog catalog;
  inference::ModelConfig config;
  (*config.mutable_metric_tags())["bad-tag"] = "x";
  auto add = [&] {
    ModelInfo info;
    info.name = "m";
    info.version = 1;
    info.config = config.SerializeAsString();
    catalog.add(std::move(info));
  };
  add();
  ModelFactsCache cache(log);
  for (int scrape = 0; scrape < 3; ++scrape) {
    ASSERT_NE(cache.find(catalog, "m", 1), nullptr);
    cache.forget_unused();
  }
  EXPECT_EQ(log.records().size(), 1u) << "the warning comes once";
  config.mutable_response_cache()->set_enable(true);
  add();
  EXPECT_TRUE(cache.find(catalog, "m", 1)->response_cache);
  EXPECT_EQ(cache.find(catalog, "m", 2), nullptr);
  EXPECT_EQ(cache.find(catalog, "n", 1), nullptr);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(ModelFactsCacheTest, HoldsNoModelAndForgetsThoseThatWent) {
  test::RecordingLog log;
  test::FakeModelCatalog catalog;
  auto& model = catalog.add_identity("m");
  catalog.add_identity("n");
  ModelFactsCache cache(log);
  ASSERT_NE(cache.find(catalog, "m", 1), nullptr);
  ASSERT_NE(cache.find(catalog, "n", 1), nullptr);
  EXPECT_EQ(model.references(), 0);
  cache.forget_unused();
  catalog.unload({"m"}, [](auto) {});
  EXPECT_EQ(cache.find(catalog, "m", 1), nullptr) << "it is not served any more";
  ASSERT_NE(cache.find(catalog, "n", 1), nullptr);
  cache.forget_unused();
  EXPECT_EQ(cache.size(), 1u);
  catalog.set_exiting(true);
  EXPECT_NE(cache.find(catalog, "n", 1), nullptr) << "still served while the server ends";
  EXPECT_EQ(cache.find(catalog, "m", 1), nullptr);
}

TEST_F(ModelFamiliesTest, AnIdentifierIsTwoLabelsOfEverySeries) {
  model_.name = "/srv/a::m";
  const std::string page = text();
  EXPECT_NE(page.find(R"(nv_inference_count{model="m",namespace="/srv/a",version="3"} 21)"),
            std::string::npos);
  EXPECT_EQ(page.find("::"), std::string::npos);
  size_t series = 0, with_namespace = 0;
  for (size_t at = 0; (at = page.find("{", at)) != std::string::npos; ++at) {
    ++series;
    const std::string labels = page.substr(at, page.find("}", at) - at);
    with_namespace += labels.find(R"(model="m",namespace="/srv/a",)") != std::string::npos;
  }
  EXPECT_GT(series, 10u);
  EXPECT_EQ(with_namespace, series);
}

}  // namespace
}  // namespace atl::frontends::metrics
