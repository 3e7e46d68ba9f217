/// Mode opentelemetry: what is sent, when, and what happens if it cannot be.
#include "atoll/testing/passing_text.h"
#include "telemetry/trace/otlp_exporter.h"
#include "telemetry/trace/otlp_text.h"
#include "telemetry/trace/testing/collector.h"
#include "telemetry/trace/testing/trace_bench.h"

namespace atl::tracing {
namespace {

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A collector that a test plays itself.
struct FakeTransport final : Transport {
  explicit FakeTransport(std::vector<std::string>& received, std::vector<PostResult>& planned)
      : bodies(received), results(planned) {}
  PostResult post(std::string_view body, int64_t) noexcept override {
    bodies.emplace_back(body);
    if (results.empty()) return {};
    PostResult result = std::move(results.front());
    results.erase(results.begin());
    return result;
  }
  void interrupt(bool) noexcept override {}
  std::vector<std::string>& bodies;
  std::vector<PostResult>& results;
};

class OtlpTest : public ::testing::Test {
 protected:
  OtlpTest() {
    config_.mode = Mode::kOpenTelemetry;
    config_.defaults = {kTimestamps, 1, -1, 0};
    config_.queue_spans_max = 30;
    config_.batch_spans_max = 6;
    config_.schedule_delay_ns = 5 * kNsPerSecond;
    config_.export_timeout_ns = kNsPerSecond;
    config_.pending_bytes_max = 1 << 20;
    config_.resource = {{"service.name", "test"}};
  }
  ~OtlpTest() override { stop(); }
  void start() {
    exporter_ = std::make_unique<OtlpExporter>(config_, std::make_unique<FakeTransport>(bodies_, results_),
                                               ids_, host_.clock(), host_.log(), counts_);
    ASSERT_TRUE(exporter_->start(host_.executors()).ok());
    service_ =
        std::make_unique<TracingService>(config_, *exporter_, counts_, host_.clock(), host_.gate(), ids_);
  }
  void stop(int64_t in_ns = kNsPerSecond) {
    if (exporter_ != nullptr) exporter_->stop(host_.clock().now_ns() + in_ns);
    service_.reset();
    exporter_.reset();
  }
  Trace* begin(std::string_view traceparent = {}, std::string_view tracestate = {}) {
    TraceStart start;
    start.model = "m";
    start.version = 4;
    start.request_id = "r";
    start.traceparent = traceparent;
    start.tracestate = tracestate;
    return service_->start(start);
  }
  void run(int count) {
    for (int i = 0; i < count; ++i) {
      if (Trace* trace = begin(); trace != nullptr) trace->release();
    }
  }
  void fail_next(int count, bool again) {
    for (int i = 0; i < count; ++i) results_.push_back({unavailable("busy"), again});
  }
  static std::vector<std::string> span_names(const rapidjson::Document& document) {
    std::vector<std::string> names;
    for (const auto& span : spans(document).GetArray()) names.emplace_back(span["name"].GetString());
    return names;
  }
  static const rapidjson::Value& spans(const rapidjson::Document& document) {
    return document["resourceSpans"][0]["scopeSpans"][0]["spans"];
  }

  test::FakeHost host_;
  Config config_;
  ExportCounts counts_;
  IdSource ids_{{1, 2}};
  std::vector<std::string> bodies_;
  std::vector<PostResult> results_;
  std::unique_ptr<OtlpExporter> exporter_;
  std::unique_ptr<TracingService> service_;
};

TEST_F(OtlpTest, OneRequestIsThreeSpans) {
  start();
  Trace* trace = begin(kParent, "vendor=1");
  EXPECT_EQ(trace->traceparent().substr(0, 36), kParent.substr(0, 36));
  EXPECT_NE(trace->traceparent(), kParent);
  EXPECT_FALSE(trace->wants_tensors());
  trace->report_named(test::PassingText("HTTP_RECV_START").c_str(), 900'000'000);
  trace->report(TraceActivity::kRequestStart, 0);
  trace->report(TraceActivity::kQueueStart, 0);
  host_.fake_clock().advance(100);
  for (TraceActivity activity : {TraceActivity::kComputeStart, TraceActivity::kComputeInputEnd,
                                 TraceActivity::kComputeOutputStart, TraceActivity::kComputeEnd}) {
    trace->report(activity, 0);
    host_.fake_clock().advance(10);
  }
  trace->report(TraceActivity::kRequestEnd, 0);
  std::string parent_of_children(trace->traceparent().substr(36, 16));
  trace->release();
  stop();
  ASSERT_EQ(bodies_.size(), 1u);
  rapidjson::Document document = parse_json(bodies_[0]);
  const auto& attribute = document["resourceSpans"][0]["resource"]["attributes"][0];
  EXPECT_STREQ(attribute["key"].GetString(), "service.name");
  EXPECT_STREQ(attribute["value"]["stringValue"].GetString(), "test");
  EXPECT_STREQ(document["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"].GetString(), "triton-server");
  ASSERT_EQ(span_names(document), (std::vector<std::string>{"InferRequest", "m", "compute"}));
  const auto &root = spans(document)[0], &request = spans(document)[1], &compute = spans(document)[2];
  for (const auto* span : {&root, &request, &compute}) {
    EXPECT_STREQ((*span)["traceId"].GetString(), "0af7651916cd43dd8448eb211c80319c");
    EXPECT_STREQ((*span)["traceState"].GetString(), "vendor=1");
    EXPECT_EQ((*span)["kind"].GetInt(), 2);
    EXPECT_EQ(std::string((*span)["spanId"].GetString()).size(), 16u);
  }
  EXPECT_STREQ(root["parentSpanId"].GetString(), "b7ad6b7169203331");
  EXPECT_STREQ(request["parentSpanId"].GetString(), root["spanId"].GetString());
  EXPECT_EQ(request["spanId"].GetString(), parent_of_children);
  EXPECT_STREQ(compute["parentSpanId"].GetString(), request["spanId"].GetString());
  EXPECT_STREQ(root["startTimeUnixNano"].GetString(), "1000000000900000000");
  EXPECT_STREQ(root["endTimeUnixNano"].GetString(), "1000000001000000140");
  EXPECT_STREQ(root["events"][0]["name"].GetString(), "HTTP_RECV_START");
  EXPECT_STREQ(request["startTimeUnixNano"].GetString(), "1000000001000000000");
  EXPECT_STREQ(compute["startTimeUnixNano"].GetString(), "1000000001000000100");
  EXPECT_STREQ(compute["endTimeUnixNano"].GetString(), "1000000001000000130");
  EXPECT_EQ(compute["events"].Size(), 4u);
  std::string attributes;
  for (const auto& one : request["attributes"].GetArray()) {
    attributes += cat(one["key"].GetString(), "=", one["value"].MemberBegin()->value.GetString(), " ");
  }
  EXPECT_EQ(attributes,
            "triton.model_name=m triton.model_version=4 triton.trace_id=1 triton.trace_parent_id=0 "
            "triton.request_id=r ");
}

TEST_F(OtlpTest, StepsOfAnEnsembleAreBelowIt) {
  start();
  Trace* trace = begin();
  trace->report(TraceActivity::kRequestStart, 0);
  Trace* step = trace->spawn_child("step", 1, "");
  step->report(TraceActivity::kRequestStart, 0);
  step->release();
  trace->release();
  stop();
  rapidjson::Document document = parse_json(bodies_.at(0));
  ASSERT_EQ(span_names(document), (std::vector<std::string>{"InferRequest", "m", "step"}));
  EXPECT_FALSE(spans(document)[0].HasMember("parentSpanId"));
  EXPECT_STREQ(spans(document)[2]["parentSpanId"].GetString(), spans(document)[1]["spanId"].GetString());
}

TEST_F(OtlpTest, AnIncomingContextForcesATrace) {
  config_.defaults.rate = 0;
  config_.defaults.count = 1;
  start();
  EXPECT_EQ(begin(), nullptr);
  EXPECT_EQ(begin("nonsense"), nullptr);
  for (int i = 0; i < 3; ++i) {
    Trace* trace = begin(kParent);
    ASSERT_NE(trace, nullptr);
    trace->release();
  }
  EXPECT_EQ(service_->settings("").value().at(2).values.at(0), "1") << "it does not use up the count";
  TraceSetting off{"trace_level", {"OFF"}};
  ASSERT_TRUE(service_->update("", {&off, 1}).ok());
  EXPECT_EQ(begin(kParent), nullptr);
}

TEST_F(OtlpTest, SettingsAreTheModesOwn) {
  config_.url = "http://c/v1";
  config_.resource.emplace_back("a", "b");
  start();
  std::string text;
  auto settings = service_->settings("m");
  for (const TraceSetting& setting : settings.value()) {
    text += cat(setting.key, "=", setting.values.at(0), " ");
  }
  EXPECT_EQ(text,
            "trace_level=TIMESTAMPS trace_rate=1 trace_count=-1 trace_mode=opentelemetry "
            "resource=service.name=test,a=b url=http://c/v1 bsp_max_queue_size=30 bsp_schedule_delay=5000 "
            "bsp_max_export_batch_size=6 ");
}

TEST_F(OtlpTest, ABatchGoesAtOnceAndTheRestAfterTheDelay) {
  start();
  run(1);
  host_.run_for(4 * kNsPerSecond);
  EXPECT_TRUE(bodies_.empty());
  run(2);
  host_.run_ready();
  EXPECT_EQ(bodies_.size(), 1u) << "three traces may be nine spans, a batch is six";
  EXPECT_EQ(counts_.exported.load(), 2u);
  host_.run_for(5 * kNsPerSecond);
  EXPECT_EQ(bodies_.size(), 2u);
  EXPECT_EQ(counts_.exported.load(), 3u);
}

TEST_F(OtlpTest, FailedExportsAreTriedAgainABoundedNumberOfTimes) {
  start();
  fail_next(2, true);
  run(2);
  host_.run_ready();
  EXPECT_EQ(bodies_.size(), 1u);
  host_.run_for(OtlpExporter::kRetryDelayNs);
  EXPECT_EQ(bodies_.size(), 2u);
  host_.run_for(2 * OtlpExporter::kRetryDelayNs - 1);
  EXPECT_EQ(bodies_.size(), 2u);
  host_.run_for(1);
  EXPECT_EQ(bodies_.size(), 3u);
  EXPECT_EQ(bodies_[0], bodies_[2]);
  EXPECT_EQ(counts_.exported.load(), 2u);
  EXPECT_EQ(host_.log().count(LogLevel::kWarning), 0u);
  fail_next(100, true);
  run(2);
  host_.run_for(60 * kNsPerSecond);
  EXPECT_EQ(bodies_.size(), 3 + OtlpExporter::kAttemptsMax);
  EXPECT_EQ(counts_.dropped.load(), 2u);
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, "traces are dropped: busy"), 1u);
}

TEST_F(OtlpTest, ARefusalIsNotTriedAgain) {
  start();
  fail_next(1, false);
  run(2);
  host_.run_ready();
  EXPECT_EQ(bodies_.size(), 1u);
  EXPECT_EQ(counts_.dropped.load(), 2u);
}

TEST_F(OtlpTest, TheQueueIsBounded) {
  start();
  run(10);
  EXPECT_EQ(counts_.dropped.load(), 0u) << "thirty spans";
  run(1);
  EXPECT_EQ(counts_.dropped.load(), 1u);
  host_.run_for(5 * kNsPerSecond);
  EXPECT_EQ(counts_.exported.load(), 10u);
  run(10);
  EXPECT_EQ(counts_.dropped.load(), 1u) << "there is room again";
}

TEST_F(OtlpTest, StoppingExportsWhatIsLeftUntilTheDeadline) {
  start();
  run(5);
  stop();
  EXPECT_EQ(counts_.exported.load(), 5u);
  start();
  run(5);
  stop(0);
  EXPECT_EQ(counts_.dropped.load(), 5u);
  EXPECT_TRUE(host_.log().contains("the server stopped before they were exported"));
}

TEST(HttpTransport, RefusesOtherAddresses) {
  for (const char* url : {"", "ftp://x/", "http://", "file:///etc/passwd", "localhost:port"}) {
    auto transport = HttpTransport::create(url);
    ASSERT_FALSE(transport.ok()) << url;
    EXPECT_EQ(transport.status().message(),
              cat("option 'url' is '", url, "', expected [http://]host[:port]/path or https://..."));
  }
}

TEST(HttpTransport, PostsAndReadsTheAnswer) {
  Collector collector({200, 400, 503, 429, 204});
  auto transport = HttpTransport::create(collector.url().substr(std::string("http://").size()));
  ASSERT_TRUE(transport.ok());
  std::string large(100'000, 'x');
  struct {
    bool ok, again;
  } expected[] = {{true, false}, {false, false}, {false, true}, {false, true}, {true, false}};
  for (auto [ok, again] : expected) {
    PostResult result = (*transport)->post(large, 30 * kNsPerSecond);
    EXPECT_EQ(result.status.ok(), ok) << result.status.text();
    EXPECT_EQ(result.again, again);
  }
  ASSERT_TRUE(collector.wait_for(5));
  PostedDocument first = collector.posted()[0];
  EXPECT_EQ(first.body, large);
  EXPECT_TRUE(first.head.starts_with("POST /v1/traces HTTP/1.1\r\n")) << first.head;
  EXPECT_NE(first.head.find("Content-Type: application/json"), std::string::npos);
  EXPECT_EQ(first.head.find("Expect:"), std::string::npos);
}

TEST(HttpTransport, NobodyThereAndNoAnswer) {
  std::string url;
  {
    Collector gone;
    url = gone.url();
  }
  auto nobody = HttpTransport::create(url);
  PostResult result = (*nobody)->post("{}", 30 * kNsPerSecond);
  EXPECT_TRUE(result.again);
  EXPECT_EQ(result.status.code(), Code::kUnavailable);
  const size_t host = std::string("http://").size();
  const std::string server = url.substr(host, url.find('/', host) - host);
  EXPECT_TRUE(result.status.message().starts_with(cat("collector ", server, ": ")))
      << result.status.message();
  Collector silent({0});
  auto transport = HttpTransport::create(silent.url());
  EXPECT_TRUE((*transport)->post("{}", 50 * kNsPerMs).again);
  std::thread interrupter([&] {
    EXPECT_TRUE(silent.wait_for(1));
    (*transport)->interrupt(true);
  });
  EXPECT_FALSE((*transport)->post("{}", 600 * kNsPerSecond).status.ok());
  interrupter.join();
}

}  // namespace
}  // namespace atl::tracing
