/// What the plugin makes of its options and of a model's configuration, and what it reports.
#include "schedulers/dynamic/dynamic_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "atoll/runtime/option_table.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/recorded_metrics.h"
#include "schedulers/common/testing/config_bytes.h"
#include "schedulers/common/testing/scheduler_bench.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// A model on one instance that is busy until it is let go.
class ProviderBench {
 public:
  explicit ProviderBench(const std::string& config, uint32_t max_batch_size, DynamicSettings settings = {})
      : bench(
            1,
            [&](test::FakeHost& host) {
              settings.dispatcher.light_execution_ns = 0;
              return std::make_shared<DynamicProvider>(settings, host.log());
            },
            config_bytes(cat("max_batch_size: ", max_batch_size, " ", config)), max_batch_size) {
    bench.behavior.on_execute = [this](const Batch& batch) {
      std::string ids;
      for (const Request* request : batch.requests) ids += std::string(request->id);
      batches.push_back(ids);
      if (during_first) std::exchange(during_first, nullptr)();
    };
  }
  /// What is enqueued inside waits for the only instance.
  void while_busy(std::function<void()> what) {
    during_first = std::move(what);
    enqueue("-");
    bench.host.run_until_idle();
  }
  Status try_enqueue(std::string_view id, uint64_t priority = 0, int64_t width = 1, uint64_t timeout_us = 0) {
    requests.push_back(std::make_unique<TestRequest>(id));
    TestRequest& request = *requests.back();
    request.add_input<float>("X", DataType::kFp32, {1, width},
                             std::vector<float>(static_cast<size_t>(width)));
    request->batch_size = 1;
    request->priority = priority;
    request->timeout_us = timeout_us;
    Status status = request.enqueue(*bench.scheduler);
    if (!status.ok()) requests.pop_back();
    return status;
  }
  void enqueue(std::string_view id, uint64_t priority = 0, int64_t width = 1) {
    EXPECT_TRUE(try_enqueue(id, priority, width).ok());
  }

  std::vector<std::string> batches;  ///< the ids in them
  std::function<void()> during_first;
  std::vector<std::unique_ptr<TestRequest>> requests;
  SchedulerBench bench;
};

void enqueue_all(ProviderBench& bench, std::string_view ids) {
  for (size_t i = 0; i < ids.size(); ++i) bench.enqueue(ids.substr(i, 1));
}

TEST(DynamicProvider, IsOfItsKind) {
  test::RecordingLog log;
  EXPECT_EQ(DynamicProvider({}, log).kind(), "dynamic");
}

TEST(DynamicProvider, WithoutPreferredSizesTheLargestBatchIsPreferred) {
  ProviderBench bench("dynamic_batching { max_queue_delay_microseconds: 1000 }", 4);
  bench.while_busy([&] { enqueue_all(bench, "abcdefg"); });
  EXPECT_THAT(bench.batches, ElementsAre("-", "abcd", "efg"));
  EXPECT_EQ(bench.bench.instances[0]->batches()[2].at_ns - bench.bench.instances[0]->batches()[1].at_ns,
            1000 * kNsPerUs);
}

TEST(DynamicProvider, PreferredSizesComeInAnyOrder) {
  ProviderBench bench("dynamic_batching { preferred_batch_size: [ 4, 2, -1, 0 ] }", 8);
  bench.while_busy([&] { enqueue_all(bench, "abcdefg"); });
  EXPECT_THAT(bench.batches, ElementsAre("-", "abcd", "ef", "g"));
}

TEST(DynamicProvider, AModelThatDoesNotBatchExecutesOneByOne) {
  ProviderBench bench("dynamic_batching { }", 0);
  bench.while_busy([&] { enqueue_all(bench, "abc"); });
  EXPECT_THAT(bench.batches, ElementsAre("-", "a", "b", "c"));
}

TEST(DynamicProvider, ADelayWithoutEndEndsWithTheModel) {
  ProviderBench bench("dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }", 4);
  enqueue_all(bench, "ab");
  bench.bench.host.run_for(3'600 * kNsPerSecond);
  EXPECT_THAT(bench.batches, IsEmpty());
  bench.bench.scheduler->stop_accepting();
  bench.bench.host.run_until_idle();
  EXPECT_THAT(bench.batches, ElementsAre("ab"));
}

TEST(DynamicProvider, ShapesAndPriorities) {
  ProviderBench shapes("input { name: 'X' dims: -1 } dynamic_batching { }", 8);
  shapes.while_busy([&] {
    shapes.enqueue("a", 0, 1);
    shapes.enqueue("b", 0, 2);
    shapes.enqueue("c", 0, 2);
  });
  EXPECT_THAT(shapes.batches, ElementsAre("-", "a", "bc"));

  ProviderBench levels("dynamic_batching { priority_levels: 3 default_priority_level: 2 }", 8);
  levels.while_busy([&] {
    levels.enqueue("a", 3);
    levels.enqueue("b");
    levels.enqueue("c", 1);
  });
  EXPECT_THAT(levels.batches, ElementsAre("-", "cba"));
}

TEST(DynamicProvider, LimitsOfTheModelAndOfTheOperator) {
  DynamicSettings settings;
  settings.queue_size_max = 3;
  ProviderBench bench(
      "dynamic_batching { priority_levels: 2 default_priority_level: 2 "
      "  priority_queue_policy { key: 1 value { max_queue_size: 1 } } }",
      8, settings);
  bench.while_busy([&] {
    bench.enqueue("a", 1);
    Status full = bench.try_enqueue("b", 1);
    EXPECT_EQ(full.code(), Code::kUnavailable);
    EXPECT_EQ(full.message(), "[request id: b] Exceeds maximum queue size");
    bench.enqueue("c", 2);
    bench.enqueue("d", 2);
    EXPECT_EQ(bench.try_enqueue("", 2).message(), "[request id: <id_unknown>] Exceeds maximum queue size");
  });
  EXPECT_THAT(bench.batches, ElementsAre("-", "acd"));
}

TEST(DynamicProvider, AConfigurationThatCanNotBeRead) {
  test::FakeHost host;
  DynamicProvider provider({}, host.log());
  SchedulerContext context;
  context.model_name = "m";
  context.config = "\xff\xff";
  context.executors = &host.executors();
  context.clock = &host.clock();
  auto made = provider.create(context);
  EXPECT_EQ(made.status().code(), Code::kInternal);
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("'m'"));
}

// --- latency target ---

std::string on_target(const std::string& target_us) {
  return cat(
      "max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 2, 8 ] "
      "max_queue_delay_microseconds: 77 } parameters { key: 'latency_target_microseconds' value { "
      "string_value: '",
      target_us, "' } }");
}

/// Samples by family, with the labels joined: {"atoll_batch_size_limit": {"m,1": 8}}.
std::map<std::string, std::map<std::string, double>> samples_of(const DynamicProvider& provider) {
  std::map<std::string, std::map<std::string, double>> values;
  const test::RecordedMetrics scrape(provider);
  for (const test::RecordedFamily& family : scrape.families()) {
    auto& samples = values[family.name];
    for (const test::RecordedSample& sample : family.samples)
      samples[cat(sample.labels[0].second, ",", sample.labels[1].second)] = sample.value;
  }
  return values;
}

class TargetProviderTest : public ::testing::Test {
 protected:
  TargetProviderTest() : provider_({}, host_.log()), instance_("i", behavior_, host_.clock()) {
    scheduled_.push_back({&instance_, &spec_});
  }
  Result<std::unique_ptr<Scheduler>> create(const std::string& target_us, std::string_view model = "m",
                                            int64_t version = 1) {
    std::string config = config_bytes(on_target(target_us));
    SchedulerContext context;
    context.model_name = model;
    context.model_version = version;
    context.config = config;
    context.max_batch_size = 8;
    context.instances = scheduled_;
    context.executors = &host_.executors();
    context.clock = &host_.clock();
    return provider_.create(context);
  }
  std::map<std::string, std::map<std::string, double>> collect() { return samples_of(provider_); }
  test::FakeHost host_;
  test::FakeBehavior behavior_;
  DynamicProvider provider_;
  test::FakeInstance instance_;
  InstanceSpec spec_;
  std::vector<ScheduledInstance> scheduled_;
};

TEST_F(TargetProviderTest, TheTargetIsAWholeNumberOfMicroseconds) {
  for (const char* good : {"1", "20000", "3600000000", "007"}) EXPECT_TRUE(create(good).ok()) << good;
  for (const char* bad : {"", "0", "-1", "+1", "1.5", "20ms", " 1", "1 ", "0x10", "3600000001",
                          "99999999999999999999", "1\\000"}) {
    auto made = create(bad);
    ASSERT_FALSE(made.ok()) << bad;
    EXPECT_EQ(made.status().code(), Code::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(made.status().message()),
                HasSubstr("parameter 'latency_target_microseconds' of model 'm' must be a whole number of "
                          "microseconds from 1 to 3600000000, got '"));
  }
  EXPECT_THAT(collect()["atoll_batch_size_limit"], IsEmpty())
      << "of those that could not be made, nothing is left";
}

TEST_F(TargetProviderTest, ReportsEachModelWithATarget) {
  auto one = create("20000", "a\"b", 3).value();
  auto other = create("500000").value();
  auto values = collect();
  EXPECT_EQ(values.size(), 4u);
  EXPECT_THAT(values["atoll_batch_latency_target_seconds"],
              UnorderedElementsAre(Pair("a\"b,3", 0.02), Pair("m,1", 0.5)));
  EXPECT_THAT(values["atoll_batch_size_limit"], UnorderedElementsAre(Pair("a\"b,3", 8), Pair("m,1", 8)));
  EXPECT_THAT(values["atoll_batch_delay_seconds"], UnorderedElementsAre(Pair("a\"b,3", 0), Pair("m,1", 0)));
  EXPECT_THAT(values["atoll_batch_shed_requests_total"],
              UnorderedElementsAre(Pair("a\"b,3", 0), Pair("m,1", 0)));
  one.reset();
  EXPECT_THAT(collect()["atoll_batch_size_limit"], ElementsAre(Pair("m,1", 8)));
}

TEST_F(TargetProviderTest, WhileAModelIsReloadedOnlyTheNewOneIsReported) {
  auto old = create("20000").value();
  auto fresh = create("30000").value();
  EXPECT_THAT(collect()["atoll_batch_latency_target_seconds"], ElementsAre(Pair("m,1", 0.03)));
  old.reset();
  EXPECT_THAT(collect()["atoll_batch_latency_target_seconds"], ElementsAre(Pair("m,1", 0.03)));
}

TEST_F(TargetProviderTest, WhenAReloadFailsTheOldOneIsReported) {
  auto old = create("20000").value();
  create("30000").value().reset();  // made, and then given up
  spec_.cpu_cores = {0};            // the thread of such an instance is made at once
  host_.simulation().refuse_creates(1);
  EXPECT_EQ(create("40000").status().code(), Code::kResourceExhausted);
  EXPECT_THAT(collect()["atoll_batch_latency_target_seconds"], ElementsAre(Pair("m,1", 0.02)));
}

TEST_F(TargetProviderTest, ManyReloadsLeaveNothingBehind) {
  std::unique_ptr<Scheduler> kept;
  for (int i = 0; i < 1'000; ++i) kept = create("20000").value();
  EXPECT_EQ(collect()["atoll_batch_size_limit"].size(), 1u);
  kept.reset();
  EXPECT_EQ(host_.simulation().executors(), 0u);
}

TEST(DynamicProvider, ATargetIsReportedAsItIsKept) {
  ProviderBench bench(
      "dynamic_batching { preferred_batch_size: [ 2, 8 ] max_queue_delay_microseconds: 1000000 } "
      "parameters { key: 'latency_target_microseconds' value { string_value: '10000' } }",
      8);
  bench.bench.behavior.busy_ns = 4 * kNsPerMs;
  for (int i = 0; i < 20; ++i) {
    bench.enqueue("w");
    bench.bench.host.run_until_idle();
  }
  EXPECT_THAT(bench.batches.size(), 20u) << "the delay of the configuration does not count";
  auto& provider = static_cast<DynamicProvider&>(*bench.bench.provider);
  auto value = [&](const std::string& name) { return samples_of(provider)[name]["test,1"]; };
  EXPECT_EQ(value("atoll_batch_size_limit"), 2) << "only single ones were seen, and they fit well";
  EXPECT_EQ(value("atoll_batch_shed_requests_total"), 0);
  Status refused;
  uint64_t refusals = 0;
  bench.while_busy([&] {
    for (int i = 0; i < 20; ++i) {
      Status status = bench.try_enqueue("b");
      if (status.ok()) continue;
      ++refusals;
      refused = std::move(status);
    }
  });
  EXPECT_GT(refusals, 0u);
  for (auto& request : bench.requests) {  // and those that were too late when their turn came
    if (request->response().code != Code::kUnavailable) continue;
    ++refusals;
    EXPECT_EQ(request->response().message, refused.message());
  }
  EXPECT_EQ(value("atoll_batch_shed_requests_total"), static_cast<double>(refusals));
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_EQ(refused.message(),
            "[request id: b] the model is overloaded: the request could not be answered in time (latency "
            "target 10000 us)");
}

// --- the plugin ---

class DynamicPluginTest : public ::testing::Test {
 protected:
  DynamicPluginTest() {
    ::unsetenv(kHold);
    host_.options().set_int("max_queue_size", 65'536).set_duration_ns("light_execution", 100 * kNsPerUs);
    host_.options().set_string("backend_directory", "");
  }
  ~DynamicPluginTest() override { ::unsetenv(kHold); }

  /// A scheduler of the plugin, on one instance.
  class Model {
   public:
    Model(DynamicPluginTest& test, const std::string& config)
        : instance_("i", behavior, test.host_.clock(), &test.host_.fake_clock()),
          config_(config_bytes(cat("max_batch_size: 8 ", config))),
          plugin_(test.host_) {
      EXPECT_TRUE(plugin_.create_and_start().ok());
      EXPECT_NE(plugin_.query<MetricSource>(), nullptr);
      SchedulerContext context;
      context.model_name = "m";
      context.config = config_;
      context.max_batch_size = 8;
      context.instances = scheduled_;
      context.executors = &test.host_.executors();
      context.clock = &test.host_.clock();
      auto* provider = plugin_.query<SchedulerProvider>();
      EXPECT_EQ(provider->kind(), "dynamic");
      scheduler = provider->create(context).value();
    }
    test::FakeBehavior behavior;
    test::FakeInstance& instance() { return instance_; }

   private:
    test::FakeInstance instance_;
    InstanceSpec spec_;
    ScheduledInstance scheduled_[1] = {{&instance_, &spec_}};
    std::string config_;
    test::PluginRunner plugin_;

   public:
    std::unique_ptr<Scheduler> scheduler;
  };
  TestRequest& enqueue(Model& model) {
    requests_.push_back(std::make_unique<TestRequest>());
    requests_.back()->request().batch_size = 1;
    EXPECT_TRUE(requests_.back()->enqueue(*model.scheduler).ok());
    return *requests_.back();
  }
  static constexpr char kHold[] = "TRITONSERVER_DELAY_SCHEDULER";
  test::FakeHost host_;
  std::vector<std::unique_ptr<TestRequest>> requests_;
};

TEST_F(DynamicPluginTest, ItsOptions) {
  EXPECT_EQ(std::string(atoll_plugin_v1.name), "schedulers/dynamic");
  std::span options(atoll_plugin_v1.options, atoll_plugin_v1.options_count);
  Status table = runtime::check_option_table(options);
  EXPECT_TRUE(table.ok()) << table.text();
  std::map<std::string, std::string> defaults;
  for (const atoll_option_v1& option : options) defaults[option.key] = option.default_value;
  EXPECT_THAT(defaults, ElementsAre(Pair("backend_directory", ""), Pair("light_execution", "100us"),
                                    Pair("max_queue_size", "65536")));
}

TEST_F(DynamicPluginTest, OptionsReachTheScheduler) {
  host_.options().set_int("max_queue_size", 1);
  Model model(*this, "dynamic_batching { }");
  enqueue(model);
  enqueue(model);
  TestRequest refused;
  EXPECT_EQ(refused.enqueue(*model.scheduler).code(), Code::kUnavailable);
  host_.run_until_idle();
  EXPECT_EQ(model.instance().executions(), 2u);
}

TEST_F(DynamicPluginTest, NoLimitAndNothingInline) {
  host_.options().set_int("max_queue_size", 0).set_duration_ns("light_execution", 0);
  Model model(*this, "dynamic_batching { }");
  for (int i = 0; i < 10; ++i) {
    enqueue(model);
    host_.run_until_idle();
  }
  EXPECT_FALSE(enqueue(model).done()) << "on the instance's own thread";
  for (int i = 0; i < 70'000; ++i) enqueue(model);
  host_.run_until_idle();
}

TEST_F(DynamicPluginTest, ALightInstanceIsRunByWhoBringsTheRequest) {
  Model model(*this, "dynamic_batching { }");
  for (int i = 0; i < 10; ++i) {
    enqueue(model);
    host_.run_until_idle();
  }
  EXPECT_TRUE(enqueue(model).done());
}

TEST_F(DynamicPluginTest, TheVariableForTestsHoldsRequestsBack) {
  ::setenv(kHold, "3", 1);
  Model model(*this, "dynamic_batching { }");
  enqueue(model);
  enqueue(model);
  host_.run_until_idle();
  EXPECT_EQ(model.instance().executions(), 0u);
  enqueue(model);
  host_.run_until_idle();
  ASSERT_EQ(model.instance().executions(), 1u);
  EXPECT_EQ(model.instance().batches()[0].total_batch_size, 3u);
  enqueue(model);
  host_.run_until_idle();
  EXPECT_EQ(model.instance().executions(), 2u) << "once";
  EXPECT_THAT(host_.log().records(), IsEmpty());
}

TEST_F(DynamicPluginTest, WhatIsNoNumberInTheVariableIsIgnored) {
  for (const char* text : {"", "0", "x", "3x", "-1", " 3", "99999999999999999999"}) {
    host_.log().clear();
    ::setenv(kHold, text, 1);
    {
      Model model(*this, "dynamic_batching { }");
      enqueue(model);
      host_.run_until_idle();
      EXPECT_EQ(model.instance().executions(), 1u) << text;
    }
    bool is_fine = *text == '\0' || std::string(text) == "0";
    EXPECT_EQ(host_.log().count(LogLevel::kWarning, kHold), is_fine ? 0u : 1u) << text;
  }
}

}  // namespace
}  // namespace atl::schedulers
