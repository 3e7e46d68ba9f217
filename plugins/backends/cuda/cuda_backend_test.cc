#include "backends/cuda/cuda_backend.h"

#include "atoll/testing/fake_sequence_state.h"
#include "backends/cuda/testing/gpu_bench.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

class CudaBackendTest : public ::testing::Test {
 protected:
  ModelFiles files;
  GpuBench bench;
};

TEST_F(CudaBackendTest, ABatchIsComputed) {
  ASSERT_TRUE(bench.load(files.add("scale", kScaleConfig, kScalePipeline)).ok());
  EXPECT_TRUE(bench.instance->ready());
  TestRequest one("one"), two("two");
  fill_scale(one, 1);
  fill_scale(two, 10, 2);
  ASSERT_TRUE(bench.run({&one, &two}).ok());
  EXPECT_EQ(floats_of(one.response()), scaled(1)) << one.response().message;
  EXPECT_EQ(floats_of(two.response()), scaled(10, 2));
  expect_clean(one);
  expect_clean(two);
  EXPECT_EQ(bench.reporter.batches(), std::vector<uint32_t>{3});
  EXPECT_EQ(bench.reporter.disordered_times(), 0u);
}

TEST_F(CudaBackendTest, ItRunsOnGpusAlone) {
  auto model = bench.backend.load(files.add("scale", kScaleConfig, kScalePipeline));
  ASSERT_TRUE(model.ok()) << model.status().text();
  bench.model = std::move(model).value();
  EXPECT_EQ(bench.make_instance(0, InstanceKind::kCpu).status().message(),
            "instance 'test_0': found KIND_CPU, expected KIND_GPU: this backend runs kernels on GPUs");
  EXPECT_EQ(bench.make_instance(0, InstanceKind::kModel).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(bench.backend.traits().preferred_groups[0].kind, InstanceKind::kGpu);
}

TEST_F(CudaBackendTest, ItIsFoundByTheNameOfItsKind) {
  ModelSource source = files.add("scale", kScaleConfig, kScalePipeline);
  EXPECT_TRUE(bench.backend.serves(source).value());
  inference::ModelConfig other;
  other.set_backend("another");
  source.config = other.SerializeAsString();
  EXPECT_FALSE(bench.backend.serves(source).value());
}

TEST_F(CudaBackendTest, WhatAModelTakesIsCounted) {
  ASSERT_TRUE(bench.load(files.add("scale", kScaleConfig, kScalePipeline)).ok());
  const auto usage = bench.model->memory_usage();
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0].kind, MemoryKind::kGpu);
  EXPECT_EQ(usage[0].size_bytes, 512u);  // two tensors of a whole batch
  EXPECT_EQ(bench.memory.used_bytes(), 512u);
}

TEST_F(CudaBackendTest, WhatIsWrongWithAKernelFailsTheLoad) {
  const std::string pipeline = R"(
[[step]]
kernel = "scale"
grid = [1]
block = [128]
args = ["in:INPUT0", "out:OUTPUT0", "u32:1000000", "f32:2.0"]
)";
  bench.gpus.do_not_check();
  const Status status = bench.load(files.add("beyond", kScaleConfig, pipeline));
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_TRUE(status.message().starts_with(
      "unable to load model 'beyond': the model failed on inputs of zeros: GPU 0 is lost: "))
      << status.message();
}

TEST_F(CudaBackendTest, ARequestThatDoesNotFitFailsAlone) {
  ASSERT_TRUE(bench.load(files.add("scale", kScaleConfig, kScalePipeline)).ok());
  TestRequest good("good"), narrow("narrow"), other("other"), without("without"), shorter("shorter");
  fill_scale(good, 1);
  narrow->batch_size = other->batch_size = without->batch_size = shorter->batch_size = 1;
  narrow.add_input<float>("INPUT0", DataType::kFp32, {1, 3}, {1, 2, 3});
  other.add_input<int32_t>("INPUT0", DataType::kInt32, {1, 4}, {1, 2, 3, 4});
  shorter.add_input<float>("INPUT0", DataType::kFp32, {1, 4}, {1, 2, 3});
  ASSERT_TRUE(bench.run({&narrow, &good, &other, &without, &shorter}).ok());
  EXPECT_EQ(floats_of(good.response()), scaled(1));
  EXPECT_EQ(narrow.response().message, "input 'INPUT0': found shape [1,3], expected [-1,4]");
  EXPECT_EQ(other.response().message, "input 'INPUT0': found datatype INT32, expected FP32");
  EXPECT_EQ(without.response().message, "input 'INPUT0': found none, expected one");
  EXPECT_EQ(shorter.response().message, "input 'INPUT0': found 12 bytes, expected 16 for shape [1,4]");
  for (TestRequest* request : {&narrow, &other, &without, &shorter})
    EXPECT_EQ(request->response().code, Code::kInvalidArgument);
}

TEST_F(CudaBackendTest, ACancelledRequestIsNotRun) {
  ASSERT_TRUE(bench.load(files.add("scale", kScaleConfig, kScalePipeline)).ok());
  TestRequest kept("kept"), cancelled("cancelled");
  fill_scale(kept, 1);
  fill_scale(cancelled, 2);
  cancelled.cancel();
  ASSERT_TRUE(bench.run({&cancelled, &kept}).ok());
  EXPECT_EQ(cancelled.response().code, Code::kCancelled);
  EXPECT_EQ(floats_of(kept.response()), scaled(1));
  EXPECT_EQ(bench.reporter.batches(), std::vector<uint32_t>{1});
}

TEST_F(CudaBackendTest, EmptyTensorsAreServed) {
  ASSERT_TRUE(bench.load(files.add("bytes", kCopyConfig, kCopyPipeline)).ok());
  for (const std::string sent : {"", "x", "some bytes"}) {
    TestRequest request("r");
    request.add_raw_input("INPUT0", DataType::kUint8, {static_cast<int64_t>(sent.size())}, sent);
    request.add_output("OUTPUT0");
    ASSERT_TRUE(bench.run({&request}).ok());
    ASSERT_NE(request.response().find("OUTPUT0"), nullptr) << request.response().message;
    EXPECT_EQ(request.response().find("OUTPUT0")->bytes, sent);
    EXPECT_EQ(request.response().find("OUTPUT0")->shape,
              std::vector<int64_t>{static_cast<int64_t>(sent.size())});
  }
}

TEST_F(CudaBackendTest, RequestsThatCanNotBeJoinedRunOneAfterTheOther) {
  const std::string config = R"(max_batch_size: 8
    input { name: 'INPUT0' data_type: TYPE_UINT8 dims: -1 } output { name: 'OUTPUT0' data_type: TYPE_UINT8 dims: -1 })";
  const std::string pipeline = R"(
[output.OUTPUT0]
shape = ["B", "INPUT0.shape[1]"]
[[step]]
copy = "in:INPUT0"
to = "out:OUTPUT0"
)";
  ASSERT_TRUE(bench.load(files.add("bytes", config, pipeline)).ok());
  std::vector<std::unique_ptr<TestRequest>> requests;
  std::vector<TestRequest*> all;
  for (const std::string& sent :
       std::vector<std::string>{"abc", "defgh", "ijk", "", std::string(10000, 'x')}) {
    auto& request = requests.emplace_back(std::make_unique<TestRequest>(cat("r", requests.size())));
    (*request)->batch_size = 1;
    request->add_raw_input("INPUT0", DataType::kUint8, {1, static_cast<int64_t>(sent.size())}, sent);
    request->add_output("OUTPUT0");
    all.push_back(request.get());
  }
  ASSERT_TRUE(bench.run(all).ok());
  EXPECT_EQ(requests[0]->response().find("OUTPUT0")->bytes, "abc");
  EXPECT_EQ(requests[1]->response().find("OUTPUT0")->bytes, "defgh");
  EXPECT_EQ(requests[2]->response().find("OUTPUT0")->bytes, "ijk");
  EXPECT_EQ(requests[3]->response().find("OUTPUT0")->bytes, "");
  EXPECT_TRUE(requests[4]->response().find("OUTPUT0")->bytes == std::string(10000, 'x'));
}

TEST_F(CudaBackendTest, RaggedInputsAndBatchInputs) {
  const std::string config = R"(max_batch_size: 8
    input { name: 'VALUES' data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }
    output { name: 'SUM' data_type: TYPE_FP32 dims: 1 }
    batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO target_name: 'BEGINS' data_type: TYPE_INT32
                  source_input: 'VALUES' })";
  const std::string pipeline = R"(
[[step]]
kernel = "sum_segments"
grid = ["B"]
block = [1]
args = ["in:VALUES", "in:BEGINS", "out:SUM", "u32:B"]
)";
  for (const uint64_t pinned_bytes : {0u, 1u << 20}) {
    GpuBench own({.devices = 1, .pinned_bytes = pinned_bytes});
    const Status loaded = own.load(files.add("segments", config, pipeline));
    ASSERT_TRUE(loaded.ok()) << loaded.text();
    TestRequest three("three"), none("none"), one("one");
    three->batch_size = none->batch_size = one->batch_size = 1;
    three.add_input<float>("VALUES", DataType::kFp32, {1, 3}, {1, 2, 4});
    none.add_input<float>("VALUES", DataType::kFp32, {1, 0}, {});
    one.add_input<float>("VALUES", DataType::kFp32, {1, 1}, {10});
    for (TestRequest* request : {&three, &none, &one}) request->add_output("SUM");
    ASSERT_TRUE(own.run({&three, &none, &one}).ok());
    EXPECT_EQ(floats_of(three.response(), "SUM"), std::vector{7.0F}) << three.response().message;
    EXPECT_EQ(floats_of(none.response(), "SUM"), std::vector{0.0F});
    EXPECT_EQ(floats_of(one.response(), "SUM"), std::vector{10.0F});
    EXPECT_EQ(own.reporter.batches(), std::vector<uint32_t>{3});
  }
}

TEST_F(CudaBackendTest, StateOfASequenceStaysOnTheDevice) {
  const std::string config = R"(max_batch_size: 4
    input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 } output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 }
    sequence_batching {
      control_input { name: 'START' control { kind: CONTROL_SEQUENCE_START fp32_false_true: [0, 1] } }
      state { input_name: 'SUM_IN' output_name: 'SUM' data_type: TYPE_FP32 dims: 2 } })";
  const std::string pipeline = R"(
[[step]]
kernel = "add"
grid = [1]
block = [1]
args = ["in:INPUT0", "in:SUM_IN", "out:SUM", "u32:SUM.count"]
[[step]]
copy = "out:SUM"
to = "out:OUTPUT0"
)";
  const Status loaded = bench.load(files.add("sums", config, pipeline));
  ASSERT_TRUE(loaded.ok()) << loaded.text();
  FakeSequenceState state;
  state.add("SUM_IN", "SUM", {DataType::kFp32, {1, 2}, bytes_of<float>({0, 0})});
  for (int step = 1; step <= 3; ++step) {
    TestRequest request(cat("step ", step));
    request->batch_size = 1;
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 10});
    request.add_input<float>("START", DataType::kFp32, {1, 1}, {step == 1 ? 1.0F : 0.0F});
    request.add_output("OUTPUT0");
    state.attach(*request);
    ASSERT_TRUE(bench.run({&request}).ok());
    const auto n = static_cast<float>(step);
    EXPECT_EQ(floats_of(request.response()), (std::vector{n, 10 * n})) << request.response().message;
    EXPECT_EQ(state.value("SUM").bytes, bytes_of<float>({n, 10 * n}));
  }
  EXPECT_EQ(state.problems(), std::vector<std::string>{});
}

TEST_F(CudaBackendTest, ALostDeviceIsToldOnceAndTouchedNoMore) {
  bench.gpus.do_not_check();
  const std::string pipeline = R"(
[[step]]
kernel = "fault_on_minus_one"
grid = [1]
block = [1]
args = ["in:INPUT0", "out:OUTPUT0", "u32:INPUT0.count"]
)";
  ASSERT_TRUE(bench.load(files.add("faulty", kScaleConfig, pipeline)).ok());
  TestRequest bad("bad");
  bad->batch_size = 1;
  bad.add_input<float>("INPUT0", DataType::kFp32, {1, 4}, {-1, -1, -1, -1});
  bad.add_output("OUTPUT0");
  (void)bench.run({&bad}).ok();
  EXPECT_EQ(bad.response().code, Code::kUnavailable);
  EXPECT_FALSE(bench.instance->ready());
  EXPECT_TRUE(bench.instance->unready_reason().starts_with("GPU 0 is lost: "))
      << bench.instance->unready_reason();
  const uint64_t calls = bench.driver().calls("*");
  TestRequest late("late");
  fill_scale(late, 1);
  (void)bench.run({&late}).ok();
  EXPECT_EQ(late.response().code, Code::kUnavailable);
  bench.instance.reset();
  bench.model.reset();
  EXPECT_EQ(bench.driver().calls("*"), calls) << "the lost device was called";
}

}  // namespace
}  // namespace atl::cuda_backend
