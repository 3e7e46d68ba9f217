// Copies of requests: what is copied, what becomes of them, and that clients never notice.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "atoll/testing/gpu/fake_device_memory.h"
#include "atoll/testing/recorded_metrics.h"
#include "atoll/testing/recording_sink.h"
#include "routing/weighted/testing/test_support.h"
#include "routing/weighted/weighted_router.h"

namespace atl::routing {
namespace {

using Samples = std::map<std::string, double>;

class ShadowTest : public ::testing::Test, protected FourVersions {
 protected:
  ShadowTest() {
    lane_ = std::move(host_.executors().create("shadows", {})).value();
    for (auto& [version, model] : models) {
      model->respond = [this, version = version](Request& request) {
        seen_[version].push_back(describe(request));
        test::answer_identity(request);
        (void)request.release().ok();
      };
    }
  }
  ~ShadowTest() override {
    host_.run_until_idle();
    lane_.reset();
    EXPECT_EQ(host_.gate().count(), 0);
    EXPECT_EQ(budget_.used_bytes(), 0U);
    for (auto& [version, model] : models) EXPECT_EQ(model->references(), 0) << version;
  }

  void route_by(const Map& shadows, uint32_t max_in_flight = 16) {
    Result<RouteTable> table = read({{}, {}, shadows});
    ASSERT_TRUE(table.ok()) << table.status().message();
    context_.emplace(ShadowContext{catalog, host_.gate(), *lane_, budget_, max_in_flight});
    router_.emplace(std::move(table).value(), 7);
    router_->use(catalog, &*context_);
  }
  static std::string describe(const Request& request) {
    std::string text(request.id);
    text += (request.call_flags & kShadow) != 0 ? " shadow" : " client";
    for (const InputTensor& input : request.inputs) {
      text += " " + std::string(input.name) + "=";
      for (const Buffer& buffer : input.buffers) {
        text.append(static_cast<const char*>(buffer.data), buffer.size_bytes);
      }
    }
    for (const RequestedOutput& output : request.outputs) text += " " + std::string(output.name);
    for (const Parameter& parameter : request.parameters) {
      text += " " + std::string(parameter.key) + ":" + std::string(parameter.text);
    }
    return text;
  }
  static void fill(test::TestRequest& request, std::string_view bytes) {
    request.add_raw_input("INPUT0", DataType::kFp32, {static_cast<int64_t>(bytes.size() / 4)}, bytes,
                          bytes.size() > 4 ? std::vector<size_t>{3} : std::vector<size_t>{});
    request.add_output("OUTPUT0");
  }
  /// Sends a request to version 1 and expects its answer.
  void ask(std::string_view id, std::string_view bytes = "12345678") {
    test::TestRequest request(id);
    fill(request, bytes);
    ask(request);
  }
  void ask(test::TestRequest& request) {
    Result<ModelRef> model = router_->route("m", 1);
    ASSERT_TRUE(model.ok());
    EXPECT_EQ(model.value()->info().version, 1);
    ASSERT_TRUE(request.infer(*model.value().get()).ok());
    ASSERT_TRUE(request.done());
    EXPECT_EQ(request.problems(), std::vector<std::string>());
    ASSERT_EQ(request.responses().size(), 1U);
    EXPECT_EQ(request.responses()[0].code, Code::kOk);
  }
  Samples metrics() { return test::RecordedMetrics(*router_).values(); }
  static Samples counts(double requests, double failures, double dropped, double in_flight) {
    return {{"atoll_shadow_requests_total{model=m,version=2}", requests},
            {"atoll_shadow_failures_total{model=m,version=2}", failures},
            {"atoll_shadow_dropped_total{model=m,version=2}", dropped},
            {"atoll_shadow_requests_in_flight{model=m,version=2}", in_flight}};
  }

  test::FakeHost host_;
  SerialExecutorPtr lane_;
  ShadowBudget budget_{1 << 20};
  std::optional<ShadowContext> context_;
  std::optional<WeightedRouter> router_;
  std::map<int64_t, std::vector<std::string>> seen_;
};

TEST_F(ShadowTest, GetsACopyAfterTheClientsRequestWasTaken) {
  route_by({{"m.2", "1"}});
  test::TestRequest request("a");
  fill(request, "12345678");
  Parameter& parameter = request->add_parameter();
  parameter.key = "key";
  parameter.text = "value";
  ask(request);
  EXPECT_EQ(seen_[1], std::vector<std::string>{"a client INPUT0=12345678 OUTPUT0 key:value"});
  EXPECT_TRUE(seen_[2].empty());
  EXPECT_EQ(metrics(), counts(0, 0, 0, 1));
  host_.run_until_idle();
  EXPECT_EQ(seen_[2], std::vector<std::string>{"a shadow INPUT0=12345678 OUTPUT0 key:value"});
  EXPECT_EQ(metrics(), counts(1, 0, 0, 0));
  EXPECT_EQ(models[1]->first_responses(), 0U);
}

TEST_F(ShadowTest, CopiesAShareOfTheRequests) {
  route_by({{"m.2", "0.2"}}, 4096);
  constexpr int kRequests = 5000;
  for (int i = 0; i < kRequests; ++i) ask("x");
  host_.run_until_idle();
  EXPECT_NEAR(static_cast<double>(seen_[2].size()), kRequests * 0.2, 5 * std::sqrt(kRequests * 0.16));
  EXPECT_EQ(seen_[1].size(), static_cast<size_t>(kRequests));
}

TEST_F(ShadowTest, SeveralVersionsMayBeShadowsButNeverOfThemselves) {
  route_by({{"m.1", "1"}, {"m.2", "1"}, {"m.3", "1"}});
  ask("a");
  host_.run_until_idle();
  EXPECT_EQ(seen_[1].size(), 1U);
  EXPECT_EQ(seen_[2].size(), 1U);
  EXPECT_EQ(seen_[3].size(), 1U);
}

TEST_F(ShadowTest, FailuresStayWithTheShadow) {
  route_by({{"m.2", "1"}});
  models[2]->refuse = [](Request&) { return invalid_argument("no"); };
  ask("refused");
  host_.run_until_idle();
  EXPECT_EQ(metrics(), counts(1, 1, 0, 0));
  models[2]->refuse = nullptr;
  models[2]->respond = [](Request& request) { fail_request(request, internal_error("broken")); };
  ask("failed");
  host_.run_until_idle();
  EXPECT_EQ(metrics(), counts(2, 2, 0, 0));
  catalog.unload({"n"}, [](std::vector<ModelLoadResult>) {});
  route_by({{"m.77", "1"}});
  ask("not there");
  host_.run_until_idle();
  EXPECT_EQ(metrics()["atoll_shadow_failures_total{model=m,version=77}"], 1);
}

TEST_F(ShadowTest, ARefusedRequestHasNoShadow) {
  route_by({{"m.2", "1"}});
  models[1]->refuse = [](Request&) { return invalid_argument("no"); };
  test::TestRequest request("a");
  fill(request, "1234");
  Result<ModelRef> model = router_->route("m", 1);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(request.infer(*model.value().get()).message(), "no");
  model.value().reset();
  host_.run_until_idle();
  EXPECT_TRUE(seen_[2].empty());
  EXPECT_EQ(metrics(), counts(0, 0, 0, 0));
}

TEST_F(ShadowTest, ASlowShadowIsDroppedInsteadOfPilingUp) {
  route_by({{"m.2", "1"}}, 3);
  std::vector<Request*> held;
  models[2]->respond = [&](Request& request) { held.push_back(&request); };
  for (int i = 0; i < 10; ++i) ask("x");
  host_.run_until_idle();
  EXPECT_EQ(held.size(), 3U);
  EXPECT_EQ(metrics(), counts(3, 0, 7, 3));
  for (Request* request : held) {
    test::answer_identity(*request);
    (void)request->release().ok();
  }
  EXPECT_EQ(metrics(), counts(3, 0, 7, 0));
  held.clear();
  ask("x");
  host_.run_until_idle();
  ASSERT_EQ(held.size(), 1U);
  fail_request(*held[0], unavailable("late"));
  EXPECT_EQ(metrics(), counts(4, 1, 7, 0));
}

TEST_F(ShadowTest, MemoryIsBounded) {
  route_by({{"m.2", "1"}});
  const std::string large((1 << 20) + 4, 'x');
  ask("too large", large);
  EXPECT_EQ(metrics(), counts(0, 0, 1, 0));
  // Inputs and outputs come out of one budget: here there is no room for both.
  const std::string half(600 << 10, 'x');
  models[2]->respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {600 << 10};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
    Status status = response->allocate(output, 600 << 10);
    EXPECT_EQ(status.code(), Code::kResourceExhausted);
    response->send_error(std::move(status));
    (void)request.release().ok();
  };
  ask("large", half);
  host_.run_until_idle();
  EXPECT_EQ(metrics(), counts(1, 1, 1, 0));
}

TEST_F(ShadowTest, WhatIsNotInCpuMemoryOrPartOfASequenceIsNotCopied) {
  route_by({{"m.2", "1"}});
  test::TestRequest sequence("s");
  fill(sequence, "1234");
  sequence->sequence.number = 5;
  ask(sequence);
  EXPECT_EQ(metrics(), counts(0, 0, 0, 0));
  test::TestRequest on_gpu("g");
  fill(on_gpu, "1234");
  const_cast<Buffer&>(on_gpu->inputs[0].buffers[0]).kind = MemoryKind::kGpu;
  models[1]->respond = [](Request& request) {
    const_cast<Buffer&>(request.inputs[0].buffers[0]).kind = MemoryKind::kCpu;
    test::answer_identity(request);
    (void)request.release().ok();
  };
  ask(on_gpu);
  EXPECT_EQ(metrics(), counts(0, 0, 1, 0));
}

TEST_F(ShadowTest, WhatIsInDeviceMemoryIsCopiedWhereAPluginReachesIt) {
  test::FakeDeviceMemory gpu;
  host_.registry().publish<Memory>("gpu", gpu, 0, Memory::kDevicesMinor);
  DeviceMemory devices(host_);
  ASSERT_TRUE(devices.open().ok());
  route_by({{"m.2", "1"}});
  context_->devices = &devices;
  test::TestRequest on_gpu("g");
  fill(on_gpu, "1234");
  auto& buffer = const_cast<Buffer&>(on_gpu->inputs[0].buffers[0]);
  const Buffer on_host = std::exchange(buffer, gpu.make("abcd"));
  models[1]->respond = [&](Request& request) {
    gpu.free(std::exchange(buffer, on_host));
    test::answer_identity(request);
    (void)request.release().ok();
  };
  ask(on_gpu);
  host_.run_until_idle();
  EXPECT_EQ(seen_[2], std::vector<std::string>{"g shadow INPUT0=abcd OUTPUT0"});
  EXPECT_EQ(gpu.live(), 0U);
}

TEST_F(ShadowTest, ADecoupledShadowMayAnswerAnyNumberOfTimes) {
  route_by({{"m.2", "1"}});
  models[2]->respond = [](Request& request) {
    ResponseSink* sink = request.sink;
    for (int i = 0; i < 3; ++i) sink->send(sink->new_response(), 0);
    (void)request.release().ok();
    sink->send(nullptr, kFinal);
  };
  ask("a");
  host_.run_until_idle();
  EXPECT_EQ(metrics(), counts(1, 0, 0, 0));
}

TEST_F(ShadowTest, WhatWaitsIsDroppedWhenThePluginGoes) {
  route_by({{"m.2", "1"}});
  ask("a");
  lane_.reset();
  EXPECT_EQ(metrics(), counts(0, 0, 1, 0));
  EXPECT_TRUE(seen_[2].empty());
  host_.gate().close();
  ask("b");
  EXPECT_EQ(metrics(), counts(0, 0, 1, 0));
}

TEST_F(ShadowTest, AClientThatHoldsOnKeepsThePlugin) {
  route_by({{"m.2", "1"}});
  Result<ModelRef> model = router_->route("m", 1);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(host_.gate().count(), 1);
  EXPECT_EQ(models[1]->references(), 1);
  model.value()->add_reference();
  ModelRef second(model.value().get());
  model.value().reset();
  EXPECT_EQ(host_.gate().count(), 1);
  second.reset();
  EXPECT_EQ(host_.gate().count(), 0);
  EXPECT_EQ(models[1]->references(), 0);
}

}  // namespace
}  // namespace atl::routing
