/// Sampling and settings.
#include <thread>

#include "atoll/testing/recorded_metrics.h"
#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

constexpr const char* kShown =
    "trace_level=TIMESTAMPS trace_rate=1 trace_count=-1 log_frequency=0 trace_file=";

TEST_F(TraceBench, OffMeansOff) {
  config_.defaults.level = kOff;
  config_.file.clear();
  start();
  EXPECT_EQ(run(10), 0u);
  EXPECT_EQ(shown_settings(),
            "trace_level=OFF trace_rate=1 trace_count=-1 log_frequency=0 trace_file= trace_mode=triton");
}

TEST_F(TraceBench, EveryNthRequestOfTheServer) {
  config_.defaults.rate = 3;
  start();
  std::vector<bool> sampled;
  for (int i = 0; i < 9; ++i) sampled.push_back(run(1, i % 2 == 0 ? "a" : "b") == 1);
  EXPECT_EQ(sampled, (std::vector<bool>{false, false, true, false, false, true, false, false, true}));
}

TEST_F(TraceBench, TheCountRunsOut) {
  config_.defaults.count = 2;
  start();
  EXPECT_EQ(run(1), 1u);
  EXPECT_NE(shown_settings().find("trace_count=1"), std::string::npos);
  EXPECT_EQ(run(5), 1u);
  EXPECT_NE(shown_settings().find("trace_count=0"), std::string::npos);
  EXPECT_EQ(update("", {{"trace_count", {"3"}}}), "");
  EXPECT_EQ(run(5), 3u);
  EXPECT_EQ(update("", {{"trace_count", {"0"}}}), "");
  EXPECT_EQ(run(5), 0u);
  EXPECT_EQ(update("", {{"trace_count", {"-1"}}}), "");
  EXPECT_EQ(run(5), 5u);
}

TEST_F(TraceBench, ModelsOverrideAndFallBack) {
  config_.defaults.level = kOff;
  start();
  EXPECT_EQ(update("m", {{"trace_level", {"TIMESTAMPS"}}, {"trace_rate", {"2"}}}), "");
  EXPECT_EQ(run(4, "m"), 2u);
  EXPECT_EQ(run(4, "other"), 0u);
  EXPECT_EQ(shown_settings("m"),
            cat("trace_level=TIMESTAMPS trace_rate=2 trace_count=-1 log_frequency=0 trace_file=",
                config_.file, " trace_mode=triton"));
  EXPECT_NE(shown_settings("other").find("trace_level=OFF trace_rate=1 "), std::string::npos);
  // What a model has not set follows the server; what it has does not.
  EXPECT_EQ(update("", {{"log_frequency", {"5"}}, {"trace_rate", {"7"}}}), "");
  EXPECT_NE(shown_settings("m").find("trace_rate=2 trace_count=-1 log_frequency=5"), std::string::npos);
  EXPECT_EQ(update("m", {{"trace_rate", {}}}), "");
  EXPECT_NE(shown_settings("m").find("trace_level=TIMESTAMPS trace_rate=7"), std::string::npos);
  EXPECT_EQ(update("m", {{"trace_level", {}}}), "");
  EXPECT_EQ(shown_settings("m"), shown_settings());
  EXPECT_EQ(run(20, "m"), 0u);
}

TEST_F(TraceBench, ClearingAServersValueBringsTheManifestsBack) {
  start();
  EXPECT_EQ(update("", {{"trace_rate", {"9"}}, {"trace_level", {"OFF"}}}), "");
  EXPECT_NE(shown_settings().find("trace_level=OFF trace_rate=9"), std::string::npos);
  EXPECT_EQ(update("", {{"trace_rate", {}}, {"trace_level", {}}}), "");
  EXPECT_EQ(shown_settings(), cat(kShown, config_.file, " trace_mode=triton"));
}

TEST_F(TraceBench, AModelsCountGoesOnThroughOtherChanges) {
  start();
  EXPECT_EQ(update("m", {{"trace_count", {"5"}}}), "");
  EXPECT_EQ(run(2), 2u);
  EXPECT_EQ(update("m", {{"trace_rate", {"1"}}}), "");
  EXPECT_EQ(update("", {{"log_frequency", {"1"}}}), "");
  EXPECT_NE(shown_settings("m").find("trace_count=3"), std::string::npos);
  EXPECT_EQ(run(10), 3u);
}

TEST_F(TraceBench, AllOfAnUpdateOrNothing) {
  start();
  std::string before = shown_settings("m");
  EXPECT_EQ(update("m", {{"trace_rate", {"5"}}, {"trace_count", {"x"}}}),
            "Unable to parse 'trace_count', got: x");
  EXPECT_EQ(update("", {{"trace_level", {"TENSORS"}}, {"trace_file", {"y"}}}),
            "trace file location can not be updated through network protocol");
  EXPECT_EQ(update("m", {{"trace_rate", {"0"}}}),
            "Attempting to set invalid trace setting :sample rate must be non-zero");
  EXPECT_EQ(shown_settings("m"), before);
  // The server's rate would make a model impossible that has a level of its own.
  EXPECT_EQ(update("m", {{"trace_level", {"TENSORS"}}}), "");
  EXPECT_EQ(update("", {{"trace_level", {"OFF"}}, {"trace_rate", {"0"}}}),
            "Attempting to set invalid trace setting :sample rate must be non-zero");
  EXPECT_EQ(shown_settings(), cat(kShown, config_.file, " trace_mode=triton"));
}

TEST_F(TraceBench, WithoutAFileThereIsNothingToSwitchOn) {
  config_.defaults.level = kOff;
  config_.file.clear();
  start();
  EXPECT_EQ(update("m", {{"trace_level", {"TIMESTAMPS"}}}),
            "Attempting to set invalid trace setting :trace file name is not given");
  EXPECT_EQ(update("", {{"trace_rate", {"0"}}}), "") << "a level of OFF allows anything";
}

TEST_F(TraceBench, ModelsWithSettingsAreBounded) {
  start();
  service_->limit_models(2);
  EXPECT_EQ(update("a", {{"trace_rate", {"2"}}}), "");
  EXPECT_EQ(update("b", {{"trace_rate", {"2"}}}), "");
  EXPECT_EQ(update("c", {{"trace_rate", {"2"}}}), "2 models have trace settings of their own already");
  EXPECT_EQ(update("b", {{"trace_rate", {"3"}}}), "");
  EXPECT_EQ(update("a", {{"trace_rate", {}}}), "");
  EXPECT_EQ(update("c", {{"trace_rate", {"2"}}}), "");
}

TEST_F(TraceBench, NothingStartsOnceTheGateIsClosed) {
  start();
  Trace* open = begin();
  ASSERT_NE(open, nullptr);
  host_.gate().close();
  EXPECT_EQ(begin(), nullptr);
  EXPECT_EQ(host_.gate().count(), 1);
  open->release();
  EXPECT_EQ(host_.gate().count(), 0);
}

TEST_F(TraceBench, Metrics) {
  start();
  run(3);
  host_.run_until_idle();
  Trace* open = begin();
  EXPECT_EQ(test::RecordedMetrics(*service_).values(),
            (std::map<std::string, double>{{"atoll_traces_started_total", 4},
                                           {"atoll_traces_exported_total", 3},
                                           {"atoll_traces_dropped_total", 0}}));
  open->release();
}

TEST(TraceConcurrency, RequestsAndUpdatesMeet) {
  test::TemporaryDirectory folder;
  test::FakeHost host("trace", test::FakeHost::Threads::kReal);
  Config config;
  config.file = (folder.path() / "t.json").string();
  config.defaults = {kTimestamps | kTensors, 1, -1, 0};
  config.tensor_bytes_max = config.trace_bytes_max = 64;
  config.pending_bytes_max = 256 << 20;
  ExportCounts counts;
  IdSource ids({1, 2});
  FileExporter exporter(config, false, host.clock(), host.log(), counts);
  ASSERT_TRUE(exporter.start(host.executors()).ok());
  TracingService service(config, exporter, counts, host.clock(), host.gate(), ids);
  constexpr int kThreads = 4, kRequests = 3000;
  std::atomic<uint64_t> sampled{0};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      TraceStart start;
      start.model = t % 2 == 0 ? "even" : "odd";
      for (int i = 0; i < kRequests; ++i) {
        Trace* trace = service.start(start);
        if (trace == nullptr) continue;
        sampled.fetch_add(1);
        Trace* child = trace->spawn_child("step", 1, "r");
        std::thread other;
        if (i % 500 == 0) other = std::thread([child] { child->report_named("ELSEWHERE", 0); });
        trace->report(TraceActivity::kRequestStart, 0);
        int32_t value = i;
        Buffer buffer;
        buffer.data = &value;
        buffer.size_bytes = sizeof value;
        trace->report_tensor(TraceActivity::kTensorQueueInput, "x", DataType::kInt32, {}, {&buffer, 1});
        trace->release();
        if (other.joinable()) other.join();
        child->release();
      }
      running.fetch_sub(1);
    });
  }
  for (uint32_t i = 0; running.load() != 0; ++i) {
    TraceSetting rate{"trace_rate", {cat(i % 3 + 1)}}, frequency{"log_frequency", {cat(i % 4 * 50)}};
    ASSERT_TRUE(service.update(i % 2 == 0 ? "" : "odd", {&rate, 1}).ok());
    ASSERT_TRUE(service.update("even", {&frequency, 1}).ok());
    ASSERT_TRUE(service.settings("even").ok());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  exporter.stop(host.clock().now_ns());
  EXPECT_EQ(counts.exported.load(), sampled.load());
  EXPECT_EQ(counts.dropped.load(), 0u);
  EXPECT_GT(sampled.load(), 0u);
  uint64_t written = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    written += ids_in(entry.path()).size();
  }
  EXPECT_EQ(written, 2 * sampled.load()) << "every trace with its child, once";
  EXPECT_EQ(host.gate().count(), 0);
}

}  // namespace
}  // namespace atl::tracing
