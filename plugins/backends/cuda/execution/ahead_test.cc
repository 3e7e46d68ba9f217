// What is answered ahead of the device, so that the next step of an ensemble is in its stream before this one is done.
#include <atomic>

#include "backends/cuda/testing/gpu_bench.h"
#include "backends/cuda/testing/step_sink.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

/// Kernels named "scale" wait here while a test holds them.
std::atomic<bool> is_held{false};
std::atomic<bool> breaks{false};

CudaResult held_scale(const CudaDoubleLaunch& launch) {
  is_held.wait(true);
  return breaks ? CudaResult::ILLEGAL_ADDRESS : scale_kernel(launch);
}

class AheadTest : public ::testing::Test {
 protected:
  AheadTest() { Gpus::driver().register_kernel("scale", held_scale); }
  ~AheadTest() override {
    let_go();
    breaks = false;
    bench.instance.reset();
    others.clear();
    Gpus::driver().register_kernel("scale", scale_kernel);
  }
  /// \param instances  on GPU 0, beside bench.instance
  void load(const char* more = "", size_t instances = 0) {
    const Status loaded = bench.load(files.add("scale", cat(kScaleConfig, more), kScalePipeline));
    ASSERT_TRUE(loaded.ok()) << loaded.text();
    while (others.size() < instances) others.push_back(make_instance(0));
  }
  std::unique_ptr<BackendInstance> make_instance(int32_t device, InferenceReporter* reporter = nullptr) {
    InstanceSpec spec;
    spec.name = "test_1";
    spec.kind = InstanceKind::kGpu;
    spec.device_id = device;
    spec.reporter = reporter == nullptr ? &bench.reporter : reporter;
    auto made = bench.model->create_instance(spec);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return made.ok() ? std::move(made).value() : nullptr;
  }
  static void hold() { is_held = true; }
  static void let_go() {
    is_held = false;
    is_held.notify_all();
  }
  static void execute(BackendInstance& instance, TestRequest& request) {
    request.mark_accepted();
    Request* const pointer = &request.request();
    EXPECT_TRUE(instance.execute({.requests = {&pointer, 1}, .total_batch_size = 1}).ok());
  }
  /// A request for 1, 2, 3, 4 times 2, as an ensemble makes it.
  struct PipelineStep {
    PipelineStep(const char* id, Memory& memory) : request(id), sink(request, memory) {
      fill_scale(request, 1);
    }
    TestRequest request;
    StepSink sink;
  };
  static void execute(BackendInstance& instance, PipelineStep& step) { execute(instance, step.request); }
  /// The request is for what the step makes.
  static void execute_behind(const PipelineStep& before, BackendInstance& instance, TestRequest& request) {
    set_buffers(request, request->inputs[0], {before.sink.output()});
    execute(instance, request);
  }

  ModelFiles files;
  GpuBench bench{{.devices = 2}};
  std::vector<std::unique_ptr<BackendInstance>> others;
};

TEST_F(AheadTest, ThreeStepsAreInTheirStreamsWhileTheFirstKernelIsHeld) {
  for (const char* more :
       {"", "optimization { eager_batching: true cuda { output_copy_stream: true graphs: true } }"}) {
    SCOPED_TRACE(more);
    others.clear();
    load(more, 2);
    PipelineStep one("one", bench.memory), two("two", bench.memory), three("three", bench.memory);
    hold();
    const uint64_t waits = bench.driver().calls("cuStreamWaitEvent");
    execute(*bench.instance, one);
    ASSERT_TRUE(one.sink.is_ahead());
    execute_behind(one, *others[0], two.request);
    ASSERT_TRUE(two.sink.is_ahead());
    execute_behind(two, *others[1], three.request);
    ASSERT_TRUE(three.sink.is_ahead());
    EXPECT_GE(bench.driver().calls("cuStreamWaitEvent"), waits + 2);
    for (PipelineStep* step : {&one, &two, &three}) {
      EXPECT_TRUE(step->request.got_final());
      EXPECT_FALSE(step->request.got_release()) << "its inputs are still read";
    }
    EXPECT_FALSE(one.sink.output().ready_after->is_reached());
    let_go();
    Result<std::string> bytes = three.sink.read();
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(*bytes, bytes_of<float>({8, 16, 24, 32}));
    for (PipelineStep* step : {&one, &two, &three}) {
      EXPECT_TRUE(step->request.wait_done());
      expect_clean(step->request);
    }
  }
  EXPECT_EQ(bench.reporter.all().succeeded, 6u);
}

/// The times of one request.
class Times final : public InferenceReporter {
 public:
  void report_request(const Request&, bool, const ExecutionTimes& reported) noexcept override {
    times = reported;
  }
  void report_batch(uint32_t, const ExecutionTimes&) noexcept override {}
  void report_failure(const Request&, FailureReason) noexcept override {}
  ExecutionTimes times;
};

TEST_F(AheadTest, TheTimeOfTheStepBeforeIsNoTimeOfThisOne) {
  load();
  Times times;
  others.push_back(make_instance(0, &times));
  PipelineStep one("one", bench.memory), two("two", bench.memory);
  hold();
  execute(*bench.instance, one);
  execute_behind(one, *others[0], two.request);
  ASSERT_TRUE(two.request.got_final());
  const int64_t held_until_ns = bench.host.clock().now_ns();
  let_go();
  ASSERT_TRUE(one.request.wait_done() && two.request.wait_done());
  EXPECT_GE(times.times.execute_start_ns, held_until_ns);
  EXPECT_GE(times.times.compute_start_ns, times.times.execute_start_ns);
  EXPECT_GE(times.times.compute_end_ns, times.times.compute_start_ns);
}

TEST_F(AheadTest, WhatTheHostReadsIsAnsweredWhenItIsThere) {
  load();
  TestRequest host("host"), step("step");
  StepSink sink(step, bench.memory);
  fill_scale(host, 1);
  fill_scale(step, 2);
  hold();
  host.mark_accepted();
  step.mark_accepted();
  Request* const both[] = {&host.request(), &step.request()};
  ASSERT_TRUE(bench.instance->execute({.requests = both, .total_batch_size = 2}).ok());
  EXPECT_FALSE(host.got_final());
  EXPECT_TRUE(step.got_final()) << "whatever is in its batch";
  let_go();
  ASSERT_TRUE(host.wait_done() && step.wait_done());
  EXPECT_EQ(floats_of(host.response()), scaled(1));
  EXPECT_EQ(sink.read().value(), bytes_of(scaled(2)));
}

TEST_F(AheadTest, ADecoupledModelIsAnsweredWhenItIsDone) {
  load("model_transaction_policy { decoupled: true }");
  TestRequest request("r");
  StepSink sink(request, bench.memory);
  fill_scale(request, 1);
  hold();
  execute(*bench.instance, request);
  EXPECT_FALSE(request.got_final());
  let_go();
  ASSERT_TRUE(request.wait_done());
  EXPECT_EQ(request.responses().size(), 2u);
  expect_clean(request);
}

TEST_F(AheadTest, WhatReadsAnotherDeviceIsAnsweredWhenItIsDone) {
  load();
  others.push_back(make_instance(1));
  PipelineStep one("one", bench.memory), two("two", bench.memory);
  hold();
  execute(*bench.instance, one);
  execute_behind(one, *others[0], two.request);
  EXPECT_TRUE(one.request.got_final());
  EXPECT_FALSE(two.request.got_final()) << "the other device may be lost, and this one not know it";
  let_go();
  ASSERT_TRUE(one.request.wait_done() && two.request.wait_done());
  EXPECT_EQ(two.request.response().code, Code::kOk) << two.request.response().message;
  EXPECT_EQ(two.sink.read().value(), bytes_of<float>({4, 8, 12, 16}));
}

TEST_F(AheadTest, ADeviceThatIsLostBetweenFailsWhoeverReads) {
  load("", 2);
  bench.gpus.do_not_check();
  PipelineStep one("one", bench.memory), two("two", bench.memory);
  TestRequest host("host");
  fill_scale(host, 1);
  hold();
  execute(*bench.instance, one);
  execute_behind(one, *others[0], two.request);
  execute_behind(two, *others[1], host);
  EXPECT_FALSE(host.got_final());
  breaks = true;
  let_go();
  ASSERT_TRUE(one.request.wait_done() && two.request.wait_done() && host.wait_done());
  EXPECT_EQ(host.response().code, Code::kUnavailable);
  EXPECT_NE(host.response().message.find("ILLEGAL_ADDRESS"), std::string::npos) << host.response().message;
  EXPECT_EQ(two.sink.output().ready_after->wait().code(), Code::kUnavailable);
  EXPECT_FALSE(two.sink.read().ok());
  // Each has one answer and one release, and none counts as a success.
  for (TestRequest* request : {&one.request, &two.request, &host}) {
    EXPECT_EQ(request->responses().size(), 1u);
    expect_clean(*request);
  }
  EXPECT_EQ(bench.reporter.all().succeeded, 0u);
}

}  // namespace
}  // namespace atl::cuda_backend
