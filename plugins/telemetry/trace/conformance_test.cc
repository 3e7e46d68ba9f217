// The suites of the services, in both modes.
#include "atoll/testing/conformance/metric_source.h"
#include "atoll/testing/conformance/trace_log.h"
#include "atoll/testing/conformance/tracing.h"
#include "telemetry/trace/otlp_exporter.h"
#include "telemetry/trace/testing/trace_bench.h"

namespace atl::test {
namespace {

/// A collector that takes everything at once.
class NoTransport final : public tracing::Transport {
 public:
  virtual ~NoTransport() = default;
  tracing::PostResult post(std::string_view, int64_t) noexcept override { return {}; }
  void interrupt(bool) noexcept override {}
};

/// A service that traces every request, with its exporter on real threads.
class StartedTracing final : public MetricSourceUnderTest {
 public:
  explicit StartedTracing(tracing::Mode mode = tracing::Mode::kTriton) {
    config_.mode = mode;
    config_.file = (folder_.path() / "trace.json").string();
    config_.defaults = {tracing::kTimestamps, 1, -1, 0};
    config_.queue_spans_max = config_.batch_spans_max = 100;
    config_.schedule_delay_ns = kNsPerMs;
    config_.export_timeout_ns = kNsPerSecond;
    config_.pending_bytes_max = 1 << 20;
    if (mode == tracing::Mode::kTriton) {
      exporter_ =
          std::make_unique<tracing::FileExporter>(config_, false, host_.clock(), host_.log(), counts_);
    } else {
      exporter_ = std::make_unique<tracing::OtlpExporter>(config_, std::make_unique<NoTransport>(), ids_,
                                                          host_.clock(), host_.log(), counts_);
    }
    EXPECT_TRUE(is_ok(exporter_->start(host_.executors())));
    service_.emplace(config_, *exporter_, counts_, host_.clock(), host_.gate(), ids_);
  }
  virtual ~StartedTracing() {
    EXPECT_EQ(host_.gate().count(), 0) << "traces that were not released";
    exporter_->stop(host_.clock().now_ns() + kNsPerSecond);
  }
  tracing::TracingService& service() { return *service_; }
  MetricSource& source() override { return *service_; }
  void use() override {
    Trace* trace = service_->start({});
    ASSERT_NE(trace, nullptr);
    trace->release();
  }

 private:
  TemporaryDirectory folder_;
  FakeHost host_{"trace", FakeHost::Threads::kReal};
  tracing::Config config_;
  tracing::ExportCounts counts_;
  tracing::IdSource ids_{{1, 2}};
  std::unique_ptr<tracing::BackgroundExporter> exporter_;
  std::optional<tracing::TracingService> service_;
};

/// Keeps the slowest of its traces, in virtual time.
class KeepingTracing final : public TraceLogUnderTest {
 public:
  KeepingTracing() {
    config_.file = (folder_.path() / "trace.json").string();
    config_.defaults = {tracing::kTimestamps, 1, -1, 0};
    config_.pending_bytes_max = 1 << 20;
    exporter_.emplace(config_, false, host_.clock(), host_.log(), counts_);
    exporter_->keep_in(slowest_);
    EXPECT_TRUE(is_ok(exporter_->start(host_.executors())));
    service_.emplace(config_, *exporter_, counts_, host_.clock(), host_.gate(), ids_);
    service_->use(slowest_);
  }
  ~KeepingTracing() override { exporter_->stop(host_.clock().now_ns()); }
  TraceLog& log() override { return *service_; }
  void trace(std::string_view model, std::string_view request_id, int64_t duration_ns) override {
    TraceStart start;
    start.model = model;
    start.version = 1;
    start.request_id = request_id;
    Trace* trace = service_->start(start);
    ASSERT_NE(trace, nullptr);
    trace->report_named("HTTP_RECV_START", host_.clock().now_ns());
    trace->report(TraceActivity::kRequestStart, 0);
    host_.run_for(duration_ns);
    trace->report(TraceActivity::kRequestEnd, 0);
    trace->release();
    host_.run_ready();
  }
  void switch_off() override {
    const TraceSetting level[] = {{"trace_level", {"OFF"}}};
    EXPECT_TRUE(is_ok(service_->update("", level)));
  }

 private:
  TemporaryDirectory folder_;
  FakeHost host_{"trace"};
  tracing::Config config_;
  tracing::ExportCounts counts_;
  tracing::IdSource ids_{{1, 2}};
  tracing::SlowestTraces slowest_;
  std::optional<tracing::FileExporter> exporter_;
  std::optional<tracing::TracingService> service_;
};

TracingProvider provider(std::string name, tracing::Mode mode) {
  TracingProvider provider;
  provider.name = std::move(name);
  provider.make = [mode] {
    auto made = std::make_shared<StartedTracing>(mode);
    return std::shared_ptr<Tracing>(made, &made->service());
  };
  return provider;
}

INSTANTIATE_TEST_SUITE_P(Trace, TracingConformance,
                         ::testing::Values(provider("triton", tracing::Mode::kTriton),
                                           provider("opentelemetry", tracing::Mode::kOpenTelemetry)));
INSTANTIATE_TEST_SUITE_P(Trace, TraceLogConformance,
                         ::testing::Values(TraceLogProvider{
                             "trace", [] { return std::make_shared<KeepingTracing>(); }, {}}));
INSTANTIATE_TEST_SUITE_P(Trace, MetricSourceConformance,
                         ::testing::Values(MetricSourceProvider{
                             "trace", [] { return std::make_shared<StartedTracing>(); }, {}}));

}  // namespace
}  // namespace atl::test
