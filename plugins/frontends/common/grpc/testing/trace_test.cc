// Traces of inferences: started with what the client sent, and the frontend's own moments in them.
#include "frontends/common/grpc/testing/stream_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

/// Remembers what was reported, beyond the trace's end.
class RecordedTrace final : public Trace {
 public:
  uint64_t id() const noexcept override { return 1; }
  void report(TraceActivity activity, int64_t) noexcept override {
    add(activity == TraceActivity::kRequestEnd ? "REQUEST_END" : "other", 0);
  }
  void report_tensor(TraceActivity, std::string_view, DataType, std::span<const int64_t>,
                     std::span<const Buffer>) noexcept override {}
  void report_named(const char* name, int64_t timestamp_ns) noexcept override { add(name, timestamp_ns); }
  std::string_view traceparent() const noexcept override { return {}; }
  Trace* spawn_child(std::string_view, int64_t, std::string_view) noexcept override { return nullptr; }
  void release() noexcept override { ++releases; }
  bool wants_tensors() const noexcept override { return false; }

  std::vector<std::string> names() const {
    std::lock_guard lock(mutex_);
    return names_;
  }
  int64_t time_of(const std::string& name) const {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return times_[i];
    }
    return -1;
  }
  std::atomic<int> releases{0};

 private:
  void add(const char* name, int64_t timestamp_ns) {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(releases, 0) << name;
    names_.emplace_back(name);
    times_.push_back(timestamp_ns);
  }
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::vector<int64_t> times_;
};

class FakeTracing final : public Tracing {
 public:
  bool active() const noexcept override { return true; }
  Trace* start(const TraceStart& request) noexcept override {
    std::lock_guard lock(mutex_);
    starts.push_back(cat(request.model, "/", request.version, "/", request.request_id, "/",
                         request.traceparent, "/", request.tracestate));
    return enabled ? traces.emplace_back(std::make_unique<RecordedTrace>()).get() : nullptr;
  }
  Result<std::vector<TraceSetting>> settings(std::string_view model) const noexcept override {
    std::vector<TraceSetting> all = {{"trace_level", {"OFF"}}, {"model", {std::string(model)}}};
    for (const TraceSetting& setting : updated) all.push_back(setting);
    return all;
  }
  Status update(std::string_view, std::span<const TraceSetting> changes) noexcept override {
    updated.assign(changes.begin(), changes.end());
    return {};
  }

  bool enabled = true;
  std::mutex mutex_;
  std::vector<std::string> starts;
  std::vector<std::unique_ptr<RecordedTrace>> traces;
  std::vector<TraceSetting> updated;
};

class TraceTest : public StreamTest {
 protected:
  TraceTest() { host_.registry().publish<Tracing>("trace", tracing_); }
  ~TraceTest() override {
    stop();
    for (const auto& trace : tracing_.traces) EXPECT_EQ(trace->releases, 1);
  }
  void expect_moments(const RecordedTrace& trace) {
    // The request's end and the sending of its answer have no order among them.
    std::vector<std::string> names = trace.names();
    std::erase(names, "REQUEST_END");
    EXPECT_EQ(names,
              (std::vector<std::string>{"GRPC_WAITREAD_START", "GRPC_WAITREAD_END", "INFER_RESPONSE_COMPLETE",
                                        "GRPC_SEND_START", "GRPC_SEND_END"}));
    EXPECT_GT(trace.time_of("GRPC_WAITREAD_START"), 0);
    EXPECT_GE(trace.time_of("GRPC_WAITREAD_END"), trace.time_of("GRPC_WAITREAD_START"));
  }

  FakeTracing tracing_;
};

TEST_F(TraceTest, AnInferenceIsTracedFromReadingToSending) {
  catalog_.add_identity("m");
  start();
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  context.AddMetadata("tracestate", "a=b");
  inference::ModelInferResponse response;
  ASSERT_TRUE(infer(request("m"), &response, &context).ok());
  ASSERT_EQ(infer_ok("unknown").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(all_gone());
  EXPECT_EQ(tracing_.starts,
            std::vector<std::string>{"m/1/7/00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01/a=b"});
  expect_moments(*tracing_.traces.at(0));
}

TEST_F(TraceTest, AFailureIsTracedToo) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  model.respond = [](Request& request) { fail_request(request, internal_error("broken")); };
  start();
  EXPECT_FALSE(infer_ok("m").ok());
  EXPECT_TRUE(all_gone());
  expect_moments(*tracing_.traces.at(0));
}

TEST_F(TraceTest, EveryRequestOfAStreamHasItsTrace) {
  HeldModel held(catalog_.add_identity("m"));
  start();
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "p");
  auto stream = open(&context);
  stream->Write(numbered("m", "0"));
  stream->Write(numbered("m", "1"));
  held.at(1);
  held.answer(1);
  held.answer(0);
  read(*stream);
  read(*stream);
  EXPECT_TRUE(finish(*stream).ok());
  EXPECT_TRUE(all_gone());
  EXPECT_EQ(tracing_.starts, (std::vector<std::string>{"m/1/0/p/", "m/1/1/p/"}));
  for (const auto& trace : tracing_.traces) expect_moments(*trace);
}

TEST_F(TraceTest, EveryResponseOfADecoupledRequestIsInItsTrace) {
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "0"));
  for (int i = 0; i < 3; ++i) send_bytes(decoupled.at(0), 1, 'x', 0);
  end_request(decoupled.at(0));
  for (int i = 0; i < 3; ++i) read(*stream);
  EXPECT_TRUE(finish(*stream).ok());
  EXPECT_TRUE(all_gone());
  const std::vector<std::string> names = tracing_.traces.at(0)->names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "GRPC_SEND_START"), 3);
  EXPECT_EQ(std::count(names.begin(), names.end(), "GRPC_SEND_END"), 3);
}

TEST_F(TraceTest, ARequestThatIsNotSampledHasNone) {
  tracing_.enabled = false;
  catalog_.add_identity("m");
  start();
  EXPECT_TRUE(infer_ok("m").ok());
  EXPECT_EQ(tracing_.starts.size(), 1u);
}

TEST_F(TraceTest, TraceSettingsAreShownAndChanged) {
  catalog_.add_identity("m");
  start();
  inference::TraceSettingRequest message;
  inference::TraceSettingResponse response;
  auto ask = [&] {
    grpc::ClientContext context;
    return stub_->TraceSetting(&context, message, &response);
  };
  ASSERT_TRUE(ask().ok());
  EXPECT_EQ(response.settings().at("trace_level").value(0), "OFF");
  message.set_model_name("m");
  (*message.mutable_settings())["trace_rate"].add_value("10");
  (*message.mutable_settings())["trace_count"];
  ASSERT_TRUE(ask().ok());
  EXPECT_EQ(response.settings().at("model").value(0), "m");
  EXPECT_EQ(response.settings().at("trace_rate").value(0), "10");
  EXPECT_EQ(response.settings().at("trace_count").value_size(), 0) << "cleared";
  message.set_model_name("x");
  expect_status(ask(), grpc::StatusCode::INVALID_ARGUMENT, "Request for unknown model : x");
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
