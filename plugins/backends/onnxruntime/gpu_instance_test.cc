// Where tensors of requests are and go, on GPUs. What the CPU must not touch cannot be touched: it is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/fake_sequence_state.h"
#include "backends/onnxruntime/testing/gpu_fixture.h"

namespace atl::ort::test {
namespace {

using atl::test::bytes_of;
using atl::test::decode_bytes_tensor;
using atl::test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;
using Counts = GpuDouble::Counts;

class GpuInstanceTest : public GpuFixture {
 protected:
  void serve_add_sub() { serve_on_gpu(add_sub_graph(), kAddSubConfig); }
  void ask(TestRequest& request, const std::vector<float>& a, const std::vector<float>& b) {
    add_pair(request, a, b);
    request.add_output("OUTPUT0");
    request.add_output("OUTPUT1");
  }
  static std::vector<float> sums(const TestRequest& request) {
    return values_of<float>(output_bytes(request, "OUTPUT0"));
  }
  static std::vector<float> differences(const TestRequest& request) {
    return values_of<float>(output_bytes(request, "OUTPUT1"));
  }
  /// OUTPUT0 = INPUT0, of any number of elements.
  void serve_variable(DataType type = DataType::kFp32) {
    serve_on_gpu(identity_graph(type, {kBatch, kAny}), identity_config(type, "-1", 8));
  }
  void ask_variable(TestRequest& request, const std::vector<float>& values) {
    request.add_input("INPUT0", DataType::kFp32, {1, static_cast<int64_t>(values.size())}, values);
    request.add_output("OUTPUT0");
    request->batch_size = 1;
  }
};

TEST_F(GpuInstanceTest, TensorsOfTheHostStayThere) {
  serve_add_sub();
  TestRequest alone, first, second;
  ask(alone, {1, 2}, {10, 20});
  ask(first, {1, 2}, {1, 2});
  ask(second, {3, 4, 5, 6}, {1, 1, 1, 1});
  execute({&alone});
  execute({&first, &second});
  EXPECT_THAT(sums(alone), ElementsAre(11, 22));
  EXPECT_THAT(sums(first), ElementsAre(2, 4));
  EXPECT_THAT(differences(second), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(ort_double().counts(), (Counts{2, 0, 0}));
  EXPECT_EQ(driver().calls("cuMemcpyAsync"), 0u);
}

TEST_F(GpuInstanceTest, TensorsOfTheDeviceAreUsedWhereTheyAre) {
  serve_add_sub();
  TestRequest request;
  ask(request, {1, 2}, {10, 20});
  move_to_gpu(request, 0);
  move_to_gpu(request, 1);
  DeviceSink sink(*memory_, request);
  const uint64_t copies = driver().calls("cuMemcpyAsync");
  execute({&request});
  EXPECT_THAT(sums(request), ElementsAre(11, 22));
  EXPECT_THAT(differences(request), ElementsAre(-9, -18));
  EXPECT_EQ(ort_double().counts(), (Counts{1, 2, 2}));
  EXPECT_EQ(driver().calls("cuMemcpyAsync"), copies + 2) << "those with which the test looks at the answer";
}

TEST_F(GpuInstanceTest, RequestsAreJoinedOnTheDeviceIfOneOfThemIsThere) {
  serve_add_sub();
  driver().slow_copies(2'000'000);  // who does not wait for them reads something else
  TestRequest there, here, cut;
  ask(there, {1, 2}, {10, 20});
  ask(here, {3, 4}, {30, 40});
  const std::string bytes = bytes_of<float>({5, 6, 7, 8});
  cut.add_raw_input("INPUT0", DataType::kFp32, {2, 2}, bytes, {3, 9});
  cut.add_raw_input("INPUT1", DataType::kFp32, {2, 2}, bytes, {8});
  cut.add_output("OUTPUT0");
  cut->batch_size = 2;
  move_to_gpu(there, 0);
  move_to_gpu(cut, 0);
  execute({&there, &here, &cut});
  EXPECT_THAT(sums(there), ElementsAre(11, 22));
  EXPECT_THAT(differences(here), ElementsAre(-27, -36));
  EXPECT_THAT(sums(cut), ElementsAre(10, 12, 14, 16));
  EXPECT_EQ(ort_double().counts(), (Counts{1, 1, 0})) << "INPUT1 is with the CPU everywhere";
}

TEST_F(GpuInstanceTest, WhatIsElsewhereOrBeginsInBetweenIsCopiedFirst) {
  serve_add_sub();
  driver().slow_copies(2'000'000);
  TestRequest request;
  ask(request, {1, 2}, {10, 20});
  move_to_gpu(request, 0, /*device=*/1);
  move_to_gpu(request, 1, /*device=*/0, /*offset=*/4);
  DeviceSink sink(*memory_, request, /*offset=*/4);
  execute({&request});
  EXPECT_THAT(sums(request), ElementsAre(11, 22));
  EXPECT_THAT(differences(request), ElementsAre(-9, -18));
  EXPECT_EQ(ort_double().counts(), (Counts{1, 2, 2}));
}

TEST_F(GpuInstanceTest, AnOutputOfUnknownShapeIsMadeWhereTheLastOneWent) {
  serve_variable();
  driver().slow_copies(2'000'000);
  for (uint64_t run = 0; run < 3; ++run) {
    TestRequest request;
    ask_variable(request, {1, 2, 3});
    DeviceSink sink(*memory_, request);
    execute({&request});
    EXPECT_THAT(sums(request), ElementsAre(1, 2, 3));
    EXPECT_EQ(sink.given(), 1u);
    EXPECT_EQ(ort_double().counts(), (Counts{run + 1, 0, run}));
  }
  // And back.
  for (uint64_t run = 3; run < 5; ++run) {
    TestRequest request;
    ask_variable(request, {4});
    execute({&request});
    EXPECT_THAT(sums(request), ElementsAre(4));
    EXPECT_EQ(ort_double().counts(), (Counts{run + 1, 0, 3}));
  }
}

TEST_F(GpuInstanceTest, APlaceOnTheDeviceIsSeenBeforeTheFirstRun) {
  serve_variable();
  TestRequest request, other;
  ask_variable(request, {1, 2, 3});
  ask_variable(other, {7, 8, 9});
  request->outputs[0].placement = {&request, 12, MemoryKind::kGpu, 0};
  DeviceSink sink(*memory_, request);
  execute({&request, &other});
  EXPECT_THAT(sums(request), ElementsAre(1, 2, 3));
  EXPECT_THAT(sums(other), ElementsAre(7, 8, 9));
  EXPECT_EQ(ort_double().counts(), (Counts{1, 0, 1}));
}

TEST_F(GpuInstanceTest, TextsAreBroughtToTheCpu) {
  serve_variable(DataType::kBytes);
  TestRequest there, here;
  there.add_bytes_input("INPUT0", {1, 2}, {"one", ""});
  here.add_bytes_input("INPUT0", {1, 2}, {"three", "four"});
  for (TestRequest* request : {&there, &here}) {
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  move_to_gpu(there, 0);
  driver().slow_copies(2'000'000);
  DeviceSink sink(*memory_, there);
  execute({&there, &here});
  EXPECT_THAT(decode_bytes_tensor(output_bytes(there, "OUTPUT0")), ElementsAre("one", ""));
  EXPECT_THAT(decode_bytes_tensor(output_bytes(here, "OUTPUT0")), ElementsAre("three", "four"));
}

TEST_F(GpuInstanceTest, TensorsWithoutElementsNeedNoDevice) {
  serve_variable();
  TestRequest request;
  ask_variable(request, {});
  move_to_gpu(request, 0);
  DeviceSink sink(*memory_, request);
  execute({&request});
  EXPECT_EQ(output_shape(request, "OUTPUT0"), (std::vector<int64_t>{1, 0}));
}

TEST_F(GpuInstanceTest, StateStaysOnTheDevice) {
  serve_on_gpu(add_sub_graph(), R"(max_batch_size: 8
    input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 } output { name: 'OUTPUT1' data_type: TYPE_FP32 dims: 2 }
    sequence_batching { state { input_name: 'INPUT1' output_name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 } })");
  atl::test::FakeSequenceState state;
  state.give_memory_of(*memory_);
  state.add("INPUT1", "OUTPUT0", {DataType::kFp32, {1, 2}, bytes_of<float>({1, 2})});
  for (int step = 0; step < 2; ++step) {
    TestRequest request;
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {10, 10});
    request.add_output("OUTPUT0");
    request->batch_size = 1;
    state.attach(*request);
    execute({&request});
    EXPECT_THAT(sums(request), ElementsAre(11 + 10 * step, 12 + 10 * step));
  }
  EXPECT_THAT(values_of<float>(state.value("OUTPUT0").bytes), ElementsAre(21, 22));
  EXPECT_THAT(state.problems(), testing::IsEmpty());
  EXPECT_EQ(ort_double().counts(), (Counts{2, 0, 2}));
}

TEST_F(GpuInstanceTest, ADeviceLostInARunEndsTheInstance) {
  serve_add_sub();
  do_not_check();
  EXPECT_TRUE(instance_->ready());
  EXPECT_EQ(instance_->unready_reason(), "");
  ort_double().lose_device(1);
  TestRequest first, second;
  ask(first, {1, 2}, {10, 20});
  ask(second, {1, 2}, {10, 20});
  execute({&first, &second});
  for (const TestRequest* request : {&first, &second}) {
    EXPECT_EQ(request->response().code, Code::kUnavailable);
    EXPECT_THAT(request->response().message, HasSubstr("ILLEGAL_ADDRESS"));
  }
  EXPECT_EQ(ort_double().counts().runs, 1u) << "no other run is tried";
  EXPECT_FALSE(instance_->ready());
  EXPECT_EQ(instance_->unready_reason(), first.response().message);
  TestRequest late;
  ask(late, {1, 2}, {10, 20});
  Request* raw = &late.request();
  const Status status = instance_->execute({.requests = {&raw, 1}, .total_batch_size = 1});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), instance_->unready_reason());
}

TEST_F(GpuInstanceTest, AFailureOfAnyCallOfTheDriverFailsRequestsAndLeaksNothing) {
  serve_add_sub();
  for (uint64_t nth = 1; nth < 40; ++nth) {
    TestRequest there, here;
    ask(there, {1, 2}, {10, 20});
    ask(here, {3, 4}, {30, 40});
    move_to_gpu(there, 0);
    move_to_gpu(there, 1);
    DeviceSink sink(*memory_, there);
    sink.before_look = [] { driver().end_failures(); };
    driver().fail_call("*", nth, CudaResult::OUT_OF_MEMORY);
    driver().slow_copies(1'000'000);
    Request* both[] = {&here.request(), &there.request()};
    for (TestRequest* request : {&there, &here}) request->mark_accepted();
    const Status status = instance_->execute({.requests = both, .total_batch_size = 2});
    driver().end_failures();
    for (TestRequest* request : {&there, &here}) {
      if (!status.ok()) fail_request(request->request(), status.clone());
      EXPECT_TRUE(request->done());
      EXPECT_EQ(request->problems(), std::vector<std::string>());
      if (request->response().code != Code::kOk) continue;
      EXPECT_THAT(sums(*request), request == &there ? ElementsAre(11, 22) : ElementsAre(33, 44)) << nth;
    }
  }
  EXPECT_TRUE(instance_->ready());
}

class GpuGraphsTest : public GpuInstanceTest {
 protected:
  static constexpr const char* kGraphs =
      " optimization { cuda { graphs: true graph_spec { batch_size: 1 } graph_spec { batch_size: 2 } } }";
  void serve_with_graphs() { serve_on_gpu(add_sub_graph(), cat(kAddSubConfig, kGraphs)); }
};

TEST_F(GpuGraphsTest, BatchesOfTheirSizesAreReplayedOnOtherBytes) {
  serve_with_graphs();
  driver().slow_copies(1'000'000);
  for (int run = 0; run < 3; ++run) {
    const auto value = static_cast<float>(run);
    TestRequest here, there, pair, more;
    ask(here, {value, 2}, {10, 20});
    ask(there, {1, value}, {10, 20});
    move_to_gpu(there, 0);
    ask(pair, {1, 2, 3, value}, {1, 1, 1, 1});
    ask(more, {1, 2, 3, value, 5, 6}, {1, 1, 1, 1, 1, 1});
    DeviceSink sink(*memory_, there);
    execute({&here});
    execute({&there});
    execute({&pair});
    execute({&more});
    EXPECT_THAT(sums(here), ElementsAre(value + 10, 22));
    EXPECT_THAT(sums(there), ElementsAre(11, value + 20));
    EXPECT_THAT(differences(there), ElementsAre(-9, value - 20));
    EXPECT_THAT(sums(pair), ElementsAre(2, 3, 4, value + 1));
    EXPECT_THAT(differences(more), ElementsAre(0, 1, 2, value - 1, 4, 5)) << "which has no graph";
    EXPECT_EQ(ort_double().counts().replays, 3u * static_cast<uint64_t>(run) + 1)
        << "there, and what was there before";
  }
}

TEST_F(GpuGraphsTest, EachSetOfOutputsHasItsOwn) {
  serve_with_graphs();
  for (int run = 0; run < 2; ++run) {
    for (const char* output : {"OUTPUT0", "OUTPUT1"}) {
      TestRequest request;
      add_pair(request, {1, 2}, {10, 20});
      request.add_output(output);
      execute({&request});
      const float sign = output == std::string("OUTPUT0") ? 1.0f : -1.0f;
      EXPECT_THAT(values_of<float>(output_bytes(request, output)), ElementsAre(1 + sign * 10, 2 + sign * 20));
    }
  }
  EXPECT_EQ(ort_double().counts().replays, 2u);
}

TEST_F(GpuGraphsTest, ARunThatCanNotBeRecordedIsDoneWithout) {
  serve_with_graphs();
  ort_double().refuse_graphs();
  for (int run = 0; run < 2; ++run) {
    TestRequest request;
    ask(request, {1, 2}, {10, 20});
    execute({&request});
    EXPECT_THAT(sums(request), ElementsAre(11, 22));
    EXPECT_THAT(differences(request), ElementsAre(-9, -18));
  }
  EXPECT_EQ(
      log_.count(LogLevel::kWarning,
                 "unable to record CUDA graph for 'm', it is run without: the stream cannot be captured"),
      1u);
}

TEST_F(GpuGraphsTest, AModelThatCanNotBeRecordedIsRunWithout) {
  ort_double().refuse_graphs();
  serve_with_graphs();
  EXPECT_EQ(log_.count(LogLevel::kWarning, "unable to record CUDA graph for 'm', it is run without: "), 1u);
  TestRequest request;
  ask(request, {1, 2}, {10, 20});
  execute({&request});
  EXPECT_THAT(sums(request), ElementsAre(11, 22));
  EXPECT_EQ(ort_double().counts(), (Counts{1, 0, 0}));
}

}  // namespace
}  // namespace atl::ort::test
