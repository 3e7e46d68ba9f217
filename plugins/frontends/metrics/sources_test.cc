/// What other plugins tell: their metrics, their memory, their states.
#include <gtest/gtest.h>

#include <functional>

#include "atoll/memory/memory.h"
#include "atoll/testing/fake_event_bus.h"
#include "atoll/testing/fake_registry.h"
#include "frontends/metrics/plugin_states.h"
#include "frontends/metrics/source_sink.h"
#include "frontends/metrics/testing/metrics_test_support.h"

namespace atl::frontends::metrics {
namespace {

class FakeSource final : public MetricSource {
 public:
  explicit FakeSource(std::function<void(MetricSink&)> collect) : collect_(std::move(collect)) {}
  virtual ~FakeSource() = default;
  void collect(MetricSink& sink) const noexcept override { collect_(sink); }

 private:
  std::function<void(MetricSink&)> collect_;
};

class SourcesTest : public ::testing::Test {
 protected:
  std::string text() {
    write_sources(registry_, page_);
    EXPECT_EQ(registry_.holders(), 0u);
    return page_.text();
  }
  test::FakeRegistry registry_;
  Page page_{5000};
};

TEST_F(SourcesTest, SourcesShareAFamily) {
  auto source = [](const char* instance) {
    return FakeSource([instance](MetricSink& sink) {
      sink.family("atoll_calls_total", "Calls.", MetricKind::kCounter);
      const MetricLabel labels[] = {{"instance", instance}, {"a", "x\"\n\\\xff"}};
      sink.sample(labels, 3);
      sink.family("atoll_open", "Open.", MetricKind::kGauge);
      const MetricLabel one[] = {{"instance", instance}};
      sink.sample(one, 0.5);
    });
  };
  FakeSource a = source("a"), b = source("b");
  registry_.publish<MetricSource>("a", a);
  registry_.publish<MetricSource>("b", b);
  EXPECT_EQ(text(),
            "# HELP atoll_calls_total Calls.\n# TYPE atoll_calls_total counter\n"
            "atoll_calls_total{a=\"x\\\"\\n\\\\\xef\xbf\xbd\",instance=\"a\"} 3\n"
            "atoll_calls_total{a=\"x\\\"\\n\\\\\xef\xbf\xbd\",instance=\"b\"} 3\n"
            "# HELP atoll_open Open.\n# TYPE atoll_open gauge\n"
            "atoll_open{instance=\"a\"} 0.5\natoll_open{instance=\"b\"} 0.5\n");
  EXPECT_EQ(page_.left_out(), 0u);
}

TEST_F(SourcesTest, ModelsOfNamespacesHaveTheLabelsOfTheCatalogs) {
  FakeSource source([](MetricSink& sink) {
    sink.family("atoll_waits_total", "", MetricKind::kCounter);
    for (const char* model : {"/models/a::m", "/models/b::m", "::m", "m"}) {
      const MetricLabel labels[] = {{"model", model}, {"version", "1"}};
      sink.sample(labels, 2);
    }
    const MetricLabel own[] = {{"model", "a::m"}, {"namespace", "x"}};
    sink.sample(own, 2);
  });
  registry_.publish<MetricSource>("s", source);
  EXPECT_EQ(text(),
            "# TYPE atoll_waits_total counter\n"
            "atoll_waits_total{model=\"m\",namespace=\"/models/a\",version=\"1\"} 2\n"
            "atoll_waits_total{model=\"m\",namespace=\"/models/b\",version=\"1\"} 2\n"
            "atoll_waits_total{model=\"m\",namespace=\"\",version=\"1\"} 2\n"
            "atoll_waits_total{model=\"m\",version=\"1\"} 2\n"
            "atoll_waits_total{model=\"a::m\",namespace=\"x\"} 2\n");
  EXPECT_EQ(page_.left_out(), 0u);
}

TEST_F(SourcesTest, WhatWouldSpoilThePageIsLeftOut) {
  page_.counter("nv_inference_count", "Ours.", 1);
  FakeSource wild([](MetricSink& sink) {
    sink.sample({}, 1);  // of no family
    sink.family("bad-name", "", MetricKind::kGauge);
    sink.sample({}, 1);
    sink.family("", "", MetricKind::kGauge);
    sink.sample({}, 1);
    sink.family("nv_inference_count", "Not theirs.", MetricKind::kCounter);
    sink.sample({}, 1);
    sink.family("twice", "", MetricKind::kGauge);
    sink.sample({}, 1);
    sink.sample({}, 2);
    sink.family("twice", "", MetricKind::kCounter);
    sink.sample({}, 1);
    sink.family("labels", "", MetricKind::kGauge);
    const MetricLabel bad_name[] = {{"a-b", "x"}};
    sink.sample(bad_name, 1);
    const MetricLabel same[] = {{"a", "x"}, {"a", "y"}};
    sink.sample(same, 1);
    const MetricLabel good[] = {{"b", "2"}, {"a", "1"}};
    sink.sample(good, 1);
    const MetricLabel again[] = {{"a", "1"}, {"b", "2"}};
    sink.sample(again, 1);
  });
  FakeSource next([](MetricSink& sink) { sink.sample({}, 1); });  // not into the family of another source
  registry_.publish<MetricSource>("a", wild);
  registry_.publish<MetricSource>("b", next);
  EXPECT_EQ(text(),
            "# HELP nv_inference_count Ours.\n# TYPE nv_inference_count counter\nnv_inference_count 1\n"
            "# TYPE twice gauge\ntwice 1\n"
            "# TYPE labels gauge\nlabels{a=\"1\",b=\"2\"} 1\n");
  EXPECT_EQ(page_.left_out(), 10u);
}

TEST_F(SourcesTest, HistogramsAreCumulative) {
  FakeSource source([](MetricSink& sink) {
    sink.family("atoll_wait_seconds", "Waits.", MetricKind::kHistogram);
    const MetricLabel label[] = {{"pool", "p"}};
    const double bounds[] = {0.5, 2};
    const uint64_t counts[] = {3, 0, 1};
    sink.histogram(label, {bounds, counts, 12.5});
    sink.histogram({}, {{}, std::span(counts).first(1), 1});  // without a bound: all are above
  });
  registry_.publish<MetricSource>("s", source);
  EXPECT_EQ(text(),
            "# HELP atoll_wait_seconds Waits.\n# TYPE atoll_wait_seconds histogram\n"
            "atoll_wait_seconds_count{pool=\"p\"} 4\natoll_wait_seconds_sum{pool=\"p\"} 12.5\n"
            "atoll_wait_seconds_bucket{pool=\"p\",le=\"0.5\"} 3\n"
            "atoll_wait_seconds_bucket{pool=\"p\",le=\"2\"} 3\n"
            "atoll_wait_seconds_bucket{pool=\"p\",le=\"+Inf\"} 4\n"
            "atoll_wait_seconds_count 3\natoll_wait_seconds_sum 1\n"
            "atoll_wait_seconds_bucket{le=\"+Inf\"} 3\n");
  EXPECT_EQ(page_.left_out(), 0u);
}

TEST_F(SourcesTest, HistogramsThatAreNoneAreLeftOut) {
  FakeSource wild([](MetricSink& sink) {
    const double bounds[] = {1, 2}, falling[] = {2, 1}, same[] = {1, 1}, endless[] = {1, INFINITY};
    const uint64_t counts[] = {0, 0, 0}, few[] = {0, 0};
    sink.histogram({}, {bounds, counts, 0});  // of no family
    sink.family("a_gauge", "", MetricKind::kGauge);
    sink.histogram({}, {bounds, counts, 0});
    sink.family("a", "", MetricKind::kHistogram);
    sink.sample({}, 1);
    sink.histogram({}, {falling, counts, 0});
    sink.histogram({}, {same, counts, 0});
    sink.histogram({}, {endless, counts, 0});
    sink.histogram({}, {bounds, few, 0});
    sink.histogram({}, {bounds, {}, 0});
    const MetricLabel le[] = {{"le", "1"}};
    sink.histogram(le, {bounds, counts, 0});
    sink.family("b", "", static_cast<MetricKind>(77));
    sink.sample({}, 1);
  });
  registry_.publish<MetricSource>("s", wild);
  EXPECT_EQ(text(), "");
  EXPECT_EQ(page_.left_out(), 10u);
}

TEST_F(SourcesTest, FamiliesOfSourcesAreLimited) {
  for (size_t count :
       {SourceSink::kMaxFamilies - 1, SourceSink::kMaxFamilies, SourceSink::kMaxFamilies + 1}) {
    Page page(10);
    SourceSink sink(page);
    for (size_t i = 0; i < count; ++i) {
      sink.family("f" + std::to_string(i), "", MetricKind::kGauge);
      sink.sample({}, 1);
    }
    EXPECT_EQ(page.left_out(), count > SourceSink::kMaxFamilies ? 1u : 0u);
  }
}

TEST_F(SourcesTest, SeriesOfSourcesAreLimited) {
  Page page(2);
  SourceSink sink(page);
  sink.family("f", "", MetricKind::kGauge);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = std::to_string(i);
    const MetricLabel labels[] = {{"name", text}};
    sink.sample(labels, 1);
  }
  EXPECT_EQ(page.left_out(), 998u);
  EXPECT_EQ(lines_with(page.text(), "f{"), 2u);
}

class FakeMemory final : public Memory {
 public:
  FakeMemory(MemoryKind kind, uint64_t used, uint64_t limit) : kind_(kind), used_(used), limit_(limit) {}
  virtual ~FakeMemory() = default;
  MemoryKind kind() const noexcept override { return kind_; }
  Result<Buffer> allocate(uint64_t, int64_t) noexcept override { return internal_error("not here"); }
  void free(const Buffer&) noexcept override {}
  uint64_t used_bytes() const noexcept override { return used_; }
  uint64_t limit_bytes() const noexcept override { return limit_; }

 private:
  MemoryKind kind_;
  uint64_t used_, limit_;
};

TEST_F(SourcesTest, PinnedPoolsAreThoseThatAreThere) {
  FakeMemory plain(MemoryKind::kCpu, 1, 2), pinned(MemoryKind::kCpuPinned, 4096, 268435456);
  registry_.publish<Memory>("host", plain);
  write_pinned_memory(registry_, page_);
  EXPECT_EQ(page_.text(), "");
  registry_.publish<Memory>("pinned", pinned);
  write_pinned_memory(registry_, page_);
  EXPECT_EQ(registry_.holders(), 0u);
  const std::string page = page_.text();
  EXPECT_TRUE(has_line(page, "nv_pinned_memory_pool_total_bytes 268435456"));
  EXPECT_TRUE(has_line(page, "nv_pinned_memory_pool_used_bytes 4096"));
}

class PluginStatesTest : public ::testing::Test {
 protected:
  using State = PluginStateChanged::State;
  PluginStatesTest() { EXPECT_TRUE(states_.follow(bus_).ok()); }
  void plugin(const char* instance, State state, uint64_t generation = 1) {
    PluginStateChanged event;
    event.instance = std::string_view(instance);
    event.plugin = std::string_view("role/name");
    event.state = state;
    event.generation = generation;
    bus_.publish(event);
    bus_.deliver();
  }
  void server(ServerStateChanged::State state, uint64_t generation) {
    ServerStateChanged event;
    event.state = state;
    event.generation = generation;
    bus_.publish(event);
    bus_.deliver();
  }
  std::string text() {
    Page page(100);
    states_.write(page);
    return page.text();
  }
  static std::string line(const std::string& instance, const std::string& state) {
    return "atoll_plugin_state{instance=\"" + instance + "\",plugin=\"role/name\",state=\"" + state + "\"} 1";
  }
  test::FakeEventBus bus_;
  PluginStates states_;
};

TEST_F(PluginStatesTest, EachInstanceIsInOneState) {
  EXPECT_EQ(text(), "");
  plugin("a", State::kDeclared);
  EXPECT_TRUE(has_line(text(), line("a", "declared")));
  plugin("a", State::kActive);
  plugin("b", State::kLoaded);
  EXPECT_TRUE(has_line(text(), line("a", "active")));
  EXPECT_TRUE(has_line(text(), line("b", "loaded")));
  EXPECT_EQ(lines_with(text(), "atoll_plugin_state{"), 2u);
  plugin("a", State::kUnloaded);
  plugin("b", State::kDestroyed);
  EXPECT_EQ(text(), "");
}

TEST_F(PluginStatesTest, AReplacedInstanceGoesAndItsSuccessorStays) {
  plugin("a", State::kActive, 1);
  plugin("a", State::kActive, 2);
  EXPECT_EQ(lines_with(text(), "atoll_plugin_state{"), 1u) << "the same series twice would spoil the page";
  plugin("a", State::kDraining, 1);
  EXPECT_TRUE(has_line(text(), line("a", "draining")));
  EXPECT_TRUE(has_line(text(), line("a", "active")));
  plugin("a", State::kUnloaded, 1);
  EXPECT_EQ(lines_with(text(), "atoll_plugin_state{"), 1u);
  EXPECT_TRUE(has_line(text(), line("a", "active")));
}

TEST_F(PluginStatesTest, AFailedReloadIsShownUntilOneIsApplied) {
  plugin("a", State::kActive, 1);
  plugin("b", State::kFailed, 2);
  EXPECT_TRUE(has_line(text(), line("b", "failed")));
  server(ServerStateChanged::State::kActive, 2);
  EXPECT_EQ(lines_with(text(), "atoll_plugin_state{"), 1u);
}

TEST_F(PluginStatesTest, WhatFailedToReplaceOneDoesNotHideThatItGoesOn) {
  plugin("a", State::kActive, 1);
  plugin("a", State::kCreated, 2);
  plugin("a", State::kFailed, 2);
  EXPECT_EQ(lines_with(text(), "atoll_plugin_state{"), 1u);
  EXPECT_TRUE(has_line(text(), line("a", "active")));
  plugin("a", State::kUnloaded, 1);
  EXPECT_TRUE(has_line(text(), line("a", "failed")));
}

TEST_F(PluginStatesTest, TheServersStateAndGeneration) {
  server(ServerStateChanged::State::kStarting, 0);
  EXPECT_TRUE(has_line(text(), "atoll_server_state{state=\"starting\"} 1"));
  server(ServerStateChanged::State::kActive, 4);
  EXPECT_TRUE(has_line(text(), "atoll_server_state{state=\"active\"} 1"));
  EXPECT_TRUE(has_line(text(), "atoll_manifest_generation 4"));
  server(ServerStateChanged::State::kDraining, 4);
  EXPECT_EQ(lines_with(text(), "atoll_server_state{"), 1u);
  states_.unfollow();
  EXPECT_EQ(bus_.subscriptions(), 0u);
}

}  // namespace
}  // namespace atl::frontends::metrics
