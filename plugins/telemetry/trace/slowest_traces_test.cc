/// Which traces are kept, and for how long.
#include "telemetry/trace/slowest_traces.h"

#include <atomic>
#include <thread>

#include "telemetry/trace/testing/records.h"
#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

constexpr int64_t kMinute = 60 * kNsPerSecond;

std::vector<int64_t> durations(const SlowestTraces& traces, int64_t now_ns) {
  std::vector<int64_t> all;
  for (const TraceSummary& one : traces.slowest(now_ns)) all.push_back(one.duration_ns);
  return all;
}

TEST(SlowestTraces, FastOnesGo) {
  SlowestTraces traces;
  EXPECT_EQ(traces.size_bytes(), 0u);
  for (int64_t i = 1; i <= 150; ++i) traces.add(test_record(0, i % 2 == 0 ? i : 300 - i), 0);
  traces.add(test_record(0, 3), 0);
  const std::vector<int64_t> kept = durations(traces, 0);
  ASSERT_EQ(kept.size(), TraceLog::kMost);
  EXPECT_EQ(kept.front(), 299);
  EXPECT_TRUE(std::is_sorted(kept.rbegin(), kept.rend()));
  // Odd ones have become 150..299, of which there are 75, so the 25 slowest of the even ones are left.
  EXPECT_EQ(kept.back(), 102);
  EXPECT_EQ(traces.find(traces.slowest(0).front().id, 0).value().summary.duration_ns, 299);
  EXPECT_EQ(traces.find(0, 0).status().code(), Code::kNotFound);
}

TEST(SlowestTraces, OldOnesGo) {
  SlowestTraces traces;
  EXPECT_EQ(traces.forget_old(0), INT64_MAX);
  traces.add(test_record(0, kMinute), kMinute);
  traces.add(test_record(0, 2 * kMinute), 2 * kMinute);
  const uint64_t id = traces.slowest(0).back().id;
  EXPECT_EQ(durations(traces, 16 * kMinute).size(), 2u);
  EXPECT_EQ(durations(traces, 16 * kMinute + 1), std::vector<int64_t>{2 * kMinute})
      << "although nobody has forgotten it";
  EXPECT_EQ(traces.find(id, 16 * kMinute + 1).status().code(), Code::kNotFound);
  EXPECT_EQ(traces.forget_old(2 * kMinute), 16 * kMinute + 1);
  EXPECT_EQ(traces.forget_old(16 * kMinute + 1), 17 * kMinute + 1);
  EXPECT_GT(traces.size_bytes(), 0u);
  EXPECT_EQ(traces.forget_old(17 * kMinute + 1), INT64_MAX);
  EXPECT_EQ(traces.size_bytes(), 0u);
  // One that waited too long to be exported.
  traces.add(test_record(0, 1), 20 * kMinute);
  EXPECT_EQ(traces.size_bytes(), 0u);
  // Old ones make room, however slow they were.
  SlowestTraces one({.traces = 1});
  one.add(test_record(0, 10), 10);
  one.add(test_record(20 * kMinute, 20 * kMinute + 1), 20 * kMinute + 1);
  EXPECT_EQ(durations(one, 20 * kMinute + 1), std::vector<int64_t>{1});
}

TEST(SlowestTraces, MemoryIsBounded) {
  SlowestLimits limits;
  limits.bytes = 20'000;
  limits.trace_bytes = 8'000;
  SlowestTraces traces(limits);
  const auto large = [](int64_t duration_ns) {
    Record record = test_record(0, duration_ns);
    for (int64_t i = 0; i < 500; ++i) add_named(record.requests.front(), "TOKEN", i % duration_ns);
    return record;
  };
  for (int64_t i = 1; i <= 20; ++i) {
    traces.add(test_record(0, 1000 + i), 0);
    EXPECT_LE(traces.size_bytes(), limits.bytes);
  }
  const std::vector<int64_t> before = durations(traces, 0);
  traces.add(large(1001), 0);
  EXPECT_EQ(durations(traces, 0).size(), 21u) << "there was room";
  for (int64_t i = 0; i < 20; ++i) {
    traces.add(large(2000 + i), 0);
    EXPECT_LE(traces.size_bytes(), limits.bytes);
  }
  EXPECT_EQ(durations(traces, 0), (std::vector<int64_t>{2019, 2018})) << "two large ones and nothing beside";
  // What would fit only in the place of something slower takes nobody's.
  traces.add(test_record(0, 1500), 0);
  traces.add(large(2018), 0);
  EXPECT_EQ(durations(traces, 0), (std::vector<int64_t>{2019, 2018, 1500}));
  EXPECT_GT(traces.slowest(0).front().left_out, 0u);
}

TEST(SlowestTraces, ManyAddWhileOthersLook) {
  SlowestTraces traces;
  constexpr int kThreads = 4, kEach = 2000;
  std::atomic<int> adding = kThreads;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) traces.add(test_record(0, 1 + t + kThreads * i), 0);
      --adding;
    });
  }
  uint64_t found = 0;
  while (adding != 0) {
    const std::vector<TraceSummary> seen = traces.slowest(0);
    EXPECT_LE(seen.size(), TraceLog::kMost);
    for (const TraceSummary& one : seen) found += traces.find(one.id, 0).ok();
    traces.forget_old(0);
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 100; ++i) expected.push_back(kThreads * kEach - i);
  EXPECT_EQ(durations(traces, 0), expected);
}

/// A service whose exporter keeps traces.
class KeptTraces : public TraceBench {
 protected:
  void start_kept() {
    exporter_ = std::make_unique<FileExporter>(config_, false, host_.clock(), host_.log(), counts_);
    exporter_->keep_in(slowest_);
    ASSERT_TRUE(exporter_->start(host_.executors()).ok());
    service_ =
        std::make_unique<TracingService>(config_, *exporter_, counts_, host_.clock(), host_.gate(), ids_);
    service_->use(slowest_);
  }
  void trace_for(int64_t duration_ns) {
    Trace* trace = begin("m", "r");
    ASSERT_NE(trace, nullptr);
    host_.run_for(duration_ns);
    trace->release();
    host_.run_ready();
  }
  SlowestTraces slowest_;
};

TEST_F(KeptTraces, TheExporterKeepsThemAndForgetsThemByItself) {
  start_kept();
  const int64_t begun_ns = host_.clock().wall_ns();
  trace_for(5 * kNsPerMs);
  const std::vector<TraceSummary> seen = service_->slowest();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].duration_ns, 5 * kNsPerMs);
  EXPECT_EQ(seen[0].begin_wall_ns, begun_ns);
  EXPECT_EQ(seen[0].request_id, "r");
  EXPECT_EQ(service_->find(seen[0].id)->spans.size(), 1u);
  host_.run_for(kMinute);
  trace_for(kNsPerMs);
  EXPECT_EQ(service_->slowest().size(), 2u);
  host_.run_for(14 * kMinute);
  EXPECT_EQ(service_->slowest().size(), 1u);
  EXPECT_GT(slowest_.size_bytes(), 0u);
  host_.run_for(kMinute + kNsPerMs);
  EXPECT_EQ(slowest_.size_bytes(), 0u) << "nobody had to look";
  EXPECT_EQ(host_.simulation().pending_timers(), 0u);
}

TEST_F(KeptTraces, WhatIsNotSampledTakesNothing) {
  config_.defaults.level = kOff;
  start_kept();
  EXPECT_EQ(run(100), 0u);
  host_.run_until_idle();
  EXPECT_FALSE(static_cast<TraceLog&>(*service_).active());
  EXPECT_TRUE(service_->slowest().empty());
  EXPECT_EQ(slowest_.size_bytes(), 0u);
}

TEST_F(KeptTraces, OfOneThatStopsAreKeptForItsSuccessor) {
  start_kept();
  Trace* last = begin();
  last->release();
  stop();  // before its thread has run
  EXPECT_EQ(slowest_.slowest(host_.clock().now_ns()).size(), 1u);
  start_kept();
  EXPECT_EQ(service_->slowest().size(), 1u);
  host_.run_for(16 * kMinute);
  EXPECT_EQ(slowest_.size_bytes(), 0u) << "the successor forgets it in time";
}

}  // namespace
}  // namespace atl::tracing
