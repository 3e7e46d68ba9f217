/// The plugin as the server runs it.
#include "atoll/testing/plugin_runner.h"
#include "telemetry/trace/option_table.h"
#include "telemetry/trace/testing/collector.h"
#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

class TracePluginTest : public ::testing::Test {
 protected:
  TracePluginTest() { set_default_options(host_.options()); }
  void trace_one(test::PluginRunner& plugin, std::string_view traceparent = {}) {
    TraceStart start;
    start.model = "m";
    start.traceparent = traceparent;
    Trace* trace = plugin.query<Tracing>()->start(start);
    ASSERT_NE(trace, nullptr);
    trace->report(TraceActivity::kRequestStart, 0);
    trace->release();
  }
  test::TemporaryDirectory folder_;
  test::FakeHost host_{"trace", test::FakeHost::Threads::kReal};
};

TEST_F(TracePluginTest, WritesAFile) {
  std::string path = (folder_.path() / "t.json").string();
  host_.options().set_strings("level", {"TIMESTAMPS"}).set_int("rate", 1).set_string("trace_file", path);
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  EXPECT_NE(plugin.query<MetricSource>(), nullptr);
  trace_one(plugin);
  plugin.drain(0);
  plugin.stop();
  EXPECT_EQ(ids_in(path).size(), 1u);
}

TEST_F(TracePluginTest, WhatClientsHaveSetGoesOverToTheNextInstance) {
  host_.options().set_string("trace_file", (folder_.path() / "t.json").string());
  test::PluginRunner before(host_);
  ASSERT_TRUE(before.create_and_start().ok());
  const TraceSetting rate[] = {{"trace_rate", {"77"}}};
  const TraceSetting level[] = {{"trace_level", {"TIMESTAMPS"}}, {"trace_rate", {"78"}}};
  ASSERT_TRUE(before.query<Tracing>()->update("", rate).ok());
  ASSERT_TRUE(before.query<Tracing>()->update("m", level).ok());

  host_.set_replaces_running_instance(true);
  host_.options().set_string("trace_file", (folder_.path() / "other.json").string()).set_int("rate", 5);
  test::PluginRunner next(host_);
  ASSERT_TRUE(next.create_and_start().ok());
  auto value_of = [&](std::string_view model, std::string_view name) {
    for (const TraceSetting& setting : next.query<Tracing>()->settings(model).value()) {
      if (setting.key == name) return setting.values.at(0);
    }
    return std::string();
  };
  EXPECT_EQ(value_of("", "trace_rate"), "77");
  EXPECT_EQ(value_of("m", "trace_rate"), "78");
  EXPECT_EQ(value_of("m", "trace_level"), "TIMESTAMPS");
  EXPECT_EQ(value_of("n", "trace_level"), "OFF");
  before.stop();

  // One that never got to run takes nothing with it.
  host_.options().set_string("trace_file", "").set_int("rate", 6);
  test::PluginRunner third(host_);
  ASSERT_TRUE(third.create_and_start().ok());
  EXPECT_TRUE(host_.log().contains("the trace settings that clients have set for model 'm' end"));
  third.stop();
  EXPECT_EQ(value_of("", "trace_rate"), "77");
  next.stop();
}

TEST_F(TracePluginTest, TheSlowestTracesGoOverToTheNextInstance) {
  host_.options().set_string("trace_file", (folder_.path() / "t.json").string());
  host_.options().set_strings("level", {"TIMESTAMPS"}).set_int("rate", 1);
  test::PluginRunner before(host_);
  ASSERT_TRUE(before.create_and_start().ok());
  trace_one(before);
  host_.set_replaces_running_instance(true);
  test::PluginRunner next(host_);
  ASSERT_TRUE(next.create_and_start().ok());
  // What ends while both run, or with the end of the one before, is in the log of both.
  trace_one(before);
  before.drain(0);
  before.stop();
  EXPECT_EQ(next.query<TraceLog>()->slowest().size(), 2u);
  next.stop();
  // One that takes nobody's place begins without any.
  host_.set_replaces_running_instance(false);
  test::PluginRunner other(host_);
  ASSERT_TRUE(other.create_and_start().ok());
  EXPECT_TRUE(other.query<TraceLog>()->slowest().empty());
  other.stop();
}

TEST_F(TracePluginTest, PostsToACollector) {
  Collector collector;
  host_.options().set_strings("level", {"TIMESTAMPS"}).set_int("rate", 0).set_string("mode", "opentelemetry");
  host_.options().set_string("url", collector.url()).set_duration_ns("bsp_schedule_delay", kNsPerMs);
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  trace_one(plugin, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  ASSERT_TRUE(collector.wait_for(1)) << "without a stop";
  rapidjson::Document document = parse_json(collector.posted()[0].body);
  EXPECT_EQ(document["resourceSpans"][0]["scopeSpans"][0]["spans"].Size(), 2u);
}

TEST_F(TracePluginTest, ACollectorThatDoesNotAnswerDelaysTheStopByABound) {
  Collector silent({0});
  host_.options().set_strings("level", {"TIMESTAMPS"}).set_int("rate", 1).set_string("mode", "opentelemetry");
  host_.options().set_string("url", silent.url()).set_duration_ns("bsp_schedule_delay", kNsPerMs);
  host_.options().set_duration_ns("export_timeout", 600 * kNsPerSecond);
  host_.options().set_duration_ns("stop_timeout", 20 * kNsPerMs);
  test::PluginRunner plugin(host_);
  ASSERT_TRUE(plugin.create_and_start().ok());
  trace_one(plugin);
  ASSERT_TRUE(silent.wait_for(1));
  plugin.stop();
  EXPECT_TRUE(host_.log().contains("traces are dropped: "));
}

TEST_F(TracePluginTest, BadOptionsAreRefusedBeforeAnythingRuns) {
  host_.options().set_strings("level", {"LOUD"});
  EXPECT_EQ(
      test::PluginRunner(host_).create().message(),
      "option 'level': invalid value for trace level option: found 'LOUD', expected OFF, TIMESTAMPS or TENSORS");
  host_.options()
      .set_strings("level", {"OFF"})
      .set_string("mode", "opentelemetry")
      .set_string("url", "no where");
  EXPECT_EQ(test::PluginRunner(host_).create().message(),
            "option 'url' is 'no where', expected [http://]host[:port]/path or https://...");
}

}  // namespace
}  // namespace atl::tracing
