// Every call of the driver fails once, at every place, in every way: what was asked for is answered, with the right bytes
// or with what went wrong, nothing is left behind, and what comes next works.
#include "backends/cuda/testing/device_sink.h"
#include "backends/cuda/testing/gpu_bench.h"
#include "backends/cuda/testing/step_sink.h"

namespace atl::cuda_backend {
namespace {

using namespace test;  // NOLINT

constexpr const char* kAllStreams =
    "optimization { eager_batching: true cuda { output_copy_stream: true graphs: true graph_spec { batch_size: 2 } } }";

void expect_clear(const Status& status) {
  if (status.ok()) return;
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(status.message().find('\n'), std::string_view::npos) << status.message();
}

/// Answered once; right, if it is no failure. \returns whether it was right.
bool check(const TestRequest& request, float first, uint32_t rows = 1) {
  expect_clean(request);
  const auto responses = request.responses();
  EXPECT_EQ(responses.size(), 1u);
  if (responses.empty()) return false;
  if (responses[0].code != Code::kOk) {
    EXPECT_TRUE(responses[0].code == Code::kInternal || responses[0].code == Code::kResourceExhausted ||
                responses[0].code == Code::kUnavailable)
        << responses[0].message;
    EXPECT_FALSE(responses[0].message.empty());
    return false;
  }
  EXPECT_EQ(floats_of(responses[0]), scaled(first, rows));
  return true;
}

/// A step that is answered ahead, and one that reads what it has made.
void use_ahead(GpuBench& bench) {
  TestRequest step("ahead"), reader("reader");
  StepSink sink(step, bench.memory);
  fill_scale(step, 6, 2);
  fill_scale(reader, 0, 2);
  expect_clear(bench.execute({&step}));
  if (!step.got_final()) {
    ASSERT_TRUE(step.wait_done());
  }
  if (step.response().code == Code::kOk) {
    set_buffers(reader, reader->inputs[0], {sink.output()});
    expect_clear(bench.execute({&reader}));
    ASSERT_TRUE(reader.wait_done());
    const ReceivedResponse read = reader.response();
    if (read.code == Code::kOk) {
      std::vector<float> expected = scaled(6, 2);
      for (float& value : expected) value *= 2;
      EXPECT_EQ(floats_of(read), expected);
    }
    expect_clean(reader);
  }
  ASSERT_TRUE(step.wait_done());
  EXPECT_EQ(step.responses().size(), 1u);
  expect_clean(step);
}

/// All that the backend does with batches: by kernels and by a graph, from and to all kinds of memory.
void use(GpuBench& bench) {
  TestRequest host("host"), step("step"), whole("whole"), device("device");
  DeviceSink step_sink(step, bench.memory);
  fill_scale(host, 1);
  fill_scale(step, 2, 2);
  fill_scale(whole, 3, 2);
  fill_scale(device, 4);
  step->call_flags |= kIsStep;
  std::string bytes = bytes_of<float>({4, 5, 6, 7});
  Result<Buffer> memory = bench.memory.allocate(bytes.size(), 0);
  if (memory.ok() && bench.memory.copy(*memory, bytes_in(bytes)).ok())
    set_buffers(device, device->inputs[0], {*memory});
  expect_clear(bench.execute({&host, &step}));
  expect_clear(bench.execute({&whole}));
  expect_clear(bench.execute({&device}));
  for (TestRequest* request : {&host, &step, &whole, &device}) ASSERT_TRUE(request->wait_done());
  check(host, 1);
  if (step_sink.are_fetched()) check(step, 2, 2);
  check(whole, 3, 2);
  check(device, 4);
  if (memory.ok()) bench.memory.free(*memory);
  use_ahead(bench);
}

class FailureSweep : public ::testing::TestWithParam<CudaResult> {};

TEST_P(FailureSweep, EveryCallMayFail) {
  ModelFiles files;
  const ModelSource source = files.add("scale", cat(kScaleConfig, kAllStreams), kScalePipeline);
  const bool is_sticky = cuda_fault(GetParam()) == CudaFault::kDeviceLost;
  uint64_t nth = 0;
  for (bool has_failed = true; has_failed && !HasFailure();) {
    SCOPED_TRACE(::testing::Message() << "call " << ++nth);
    GpuBench bench;
    if (is_sticky) bench.gpus.do_not_check();  // what is the lost device's stays with it
    const uint64_t before = bench.driver().calls("*");
    bench.driver().fail_call("*", nth, GetParam());
    const Status loaded = bench.load(source);
    expect_clear(loaded);
    if (loaded.ok()) use(bench);
    has_failed = bench.driver().calls("*") - before >= nth;
    bench.driver().end_failures();
    if (!loaded.ok() || !bench.instance->ready()) continue;
    TestRequest next("next");
    fill_scale(next, 5);
    expect_clear(bench.run({&next}));
    EXPECT_TRUE(check(next, 5)) << next.response().message;
  }
  EXPECT_GT(nth, 80u);
}

std::string name_of(const ::testing::TestParamInfo<CudaResult>& info) {
  return std::string(cuda_result_name(info.param));
}
INSTANTIATE_TEST_SUITE_P(Codes, FailureSweep,
                         ::testing::Values(CudaResult::OUT_OF_MEMORY, CudaResult::INVALID_VALUE,
                                           CudaResult::LAUNCH_OUT_OF_RESOURCES, CudaResult::ILLEGAL_ADDRESS,
                                           CudaResult::STREAM_CAPTURE_IMPLICIT),
                         &name_of);

/// The device breaks at one operation, and every later call for it would say so.
TEST(FailureSweepOfADevice, EveryOperationMayBreakIt) {
  ModelFiles files;
  const ModelSource source = files.add("scale", cat(kScaleConfig, kAllStreams), kScalePipeline);
  bool is_lost = true;
  for (uint64_t nth = 1; is_lost && !::testing::Test::HasFailure(); ++nth) {
    SCOPED_TRACE(::testing::Message() << "operation " << nth);
    GpuBench bench;
    bench.gpus.do_not_check();
    bench.driver().fail_operation(0, nth, CudaResult::ILLEGAL_ADDRESS);
    const Status loaded = bench.load(source);
    expect_clear(loaded);
    if (loaded.ok()) use(bench);
    is_lost = !bench.cuda.lost(0).ok();
    if (is_lost && loaded.ok()) {
      EXPECT_FALSE(bench.instance->ready());
      EXPECT_FALSE(bench.instance->unready_reason().empty());
    }
    const uint64_t calls = bench.driver().calls("*");
    bench.instance.reset();
    bench.model.reset();
    if (is_lost) {
      EXPECT_EQ(bench.driver().calls("*"), calls) << "the lost device was called";
    }
    ASSERT_LT(nth, 500u);
  }
}

TEST(Memory, WhatTheDeviceHasNotIsRefusedAndTriedAgain) {
  ModelFiles files;
  GpuBench bench;
  ASSERT_TRUE(bench.load(files.add("bytes", kCopyConfig, kCopyPipeline)).ok());
  bench.driver().limit_memory(0, 8 << 20);
  const auto send = [&](size_t size) {
    TestRequest request("r");
    request.add_raw_input("INPUT0", DataType::kUint8, {static_cast<int64_t>(size)}, std::string(size, 'x'));
    request.add_output("OUTPUT0");
    EXPECT_TRUE(bench.run({&request}).ok());
    expect_clean(request);
    return request.response().code;
  };
  EXPECT_EQ(send(1000), Code::kOk);
  EXPECT_EQ(send(16 << 20), Code::kResourceExhausted);
  EXPECT_EQ(send(1000), Code::kOk);
  bench.driver().end_failures();
  EXPECT_EQ(send(16 << 20), Code::kOk);
}

}  // namespace
}  // namespace atl::cuda_backend
