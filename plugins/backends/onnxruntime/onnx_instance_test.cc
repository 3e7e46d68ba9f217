#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "atoll/testing/fake_sequence_state.h"
#include "backends/onnxruntime/testing/instance_fixture.h"

namespace atl::ort::test {
namespace {

using atl::test::bytes_of;
using atl::test::decode_bytes_tensor;
using atl::test::encode_bytes_tensor;
using atl::test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string sample(DataType type, size_t count) {
  std::string bytes(count * data_type_size_bytes(type), '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(type == DataType::kBool ? i % 2 : i * 37 + 5);
  return bytes;
}

class EveryType : public OnnxInstanceTest, public testing::WithParamInterface<DataType> {};

TEST_P(EveryType, IdentityKeepsEveryBit) {
  serve_identity(GetParam(), {kBatch, 3}, "3", 8);
  std::string bytes = sample(GetParam(), 6);
  TestRequest request;
  request.add_raw_input("INPUT0", GetParam(), {2, 3}, bytes);
  request.add_output("OUTPUT0");
  request->batch_size = 2;
  execute({&request});
  EXPECT_EQ(output_bytes(request, "OUTPUT0"), bytes);
  EXPECT_THAT(output_shape(request, "OUTPUT0"), ElementsAre(2, 3));
  EXPECT_EQ(request.response().find("OUTPUT0")->datatype, GetParam());
}

TEST_P(EveryType, MisalignedAndCutBuffersAreGathered) {
  serve_identity(GetParam(), {kBatch, 3}, "3", 8);
  std::string bytes = sample(GetParam(), 12);
  TestRequest misaligned, cut;
  misaligned.add_raw_input("INPUT0", GetParam(), {4, 3}, bytes, {}, 1);
  cut.add_raw_input("INPUT0", GetParam(), {4, 3}, bytes, {0, 1, 7}, 3);
  for (TestRequest* request : {&misaligned, &cut}) {
    request->add_output("OUTPUT0");
    request->request().batch_size = 4;
    execute({request});
    EXPECT_EQ(output_bytes(*request, "OUTPUT0"), bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryType,
                         testing::Values(DataType::kBool, DataType::kUint8, DataType::kUint16,
                                         DataType::kUint32, DataType::kUint64, DataType::kInt8,
                                         DataType::kInt16, DataType::kInt32, DataType::kInt64,
                                         DataType::kFp16, DataType::kFp32, DataType::kFp64, DataType::kBf16),
                         [](const auto& type) { return std::string(data_type_name(type.param)); });

TEST_F(OnnxInstanceTest, BytesKeepEveryByte) {
  serve_identity(DataType::kBytes, {kBatch, 2}, "2", 8);
  std::vector<std::string> elements = {"", std::string("a\0b", 3), "\xff\xfe", std::string(70'000, 'x')};
  TestRequest one, cut;
  one.add_bytes_input("INPUT0", {2, 2}, elements);
  cut.add_raw_input("INPUT0", DataType::kBytes, {2, 2}, encode_bytes_tensor(elements), {2, 5, 5, 9, 13}, 1);
  for (TestRequest* request : {&one, &cut}) {
    request->add_output("OUTPUT0");
    request->request().batch_size = 2;
    execute({request});
    EXPECT_EQ(decode_bytes_tensor(output_bytes(*request, "OUTPUT0")), elements);
  }
}

TEST_F(OnnxInstanceTest, ABatchOfBytesIsCutByElements) {
  serve_identity(DataType::kBytes, {kBatch, 1}, "1", 8);
  TestRequest a, b;
  a.add_bytes_input("INPUT0", {1, 1}, {"one"});
  b.add_bytes_input("INPUT0", {2, 1}, {"", "three"});
  b->batch_size = 2;
  a->batch_size = 1;
  a.add_output("OUTPUT0");
  b.add_output("OUTPUT0");
  execute({&a, &b});
  EXPECT_THAT(decode_bytes_tensor(output_bytes(a, "OUTPUT0")), ElementsAre("one"));
  EXPECT_THAT(decode_bytes_tensor(output_bytes(b, "OUTPUT0")), ElementsAre("", "three"));
  EXPECT_THAT(reporter_.batches(), ElementsAre(3u));
}

TEST_F(OnnxInstanceTest, ABatchIsJoinedAndCutByWeight) {
  serve_identity(DataType::kFp32, {kBatch, 2}, "2", 8);
  TestRequest a, b, c;
  a.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  b.add_raw_input("INPUT0", DataType::kFp32, {3, 2}, bytes_of<float>({3, 4, 5, 6, 7, 8}), {2, 9}, 2);
  c.add_input<float>("INPUT0", DataType::kFp32, {2, 2}, {9, 10, 11, 12});
  a->batch_size = 1, b->batch_size = 3, c->batch_size = 2;
  for (TestRequest* request : {&a, &b, &c}) request->add_output("OUTPUT0");
  execute({&a, &b, &c});
  EXPECT_THAT(values_of<float>(output_bytes(a, "OUTPUT0")), ElementsAre(1, 2));
  EXPECT_THAT(values_of<float>(output_bytes(b, "OUTPUT0")), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(values_of<float>(output_bytes(c, "OUTPUT0")), ElementsAre(9, 10, 11, 12));
  EXPECT_THAT(output_shape(b, "OUTPUT0"), ElementsAre(3, 2));
  EXPECT_THAT(reporter_.batches(), ElementsAre(6u));
  EXPECT_EQ(reporter_.all().succeeded, 3u);
}

TEST_F(OnnxInstanceTest, RequestsThatCanNotBeJoinedStillRun) {
  serve_identity(DataType::kInt32, {kBatch, kAny}, "-1", 8);
  TestRequest a, b, c;
  a.add_input<int32_t>("INPUT0", DataType::kInt32, {1, 2}, {1, 2});
  b.add_input<int32_t>("INPUT0", DataType::kInt32, {1, 3}, {3, 4, 5});
  c.add_input<int32_t>("INPUT0", DataType::kInt32, {1, 2}, {6, 7});
  for (TestRequest* request : {&a, &b, &c}) {
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  execute({&a, &b, &c});
  EXPECT_THAT(values_of<int32_t>(output_bytes(a, "OUTPUT0")), ElementsAre(1, 2));
  EXPECT_THAT(values_of<int32_t>(output_bytes(b, "OUTPUT0")), ElementsAre(3, 4, 5));
  EXPECT_THAT(values_of<int32_t>(output_bytes(c, "OUTPUT0")), ElementsAre(6, 7));
}

TEST_F(OnnxInstanceTest, ZeroElementsWork) {
  for (DataType type : {DataType::kFp32, DataType::kBytes}) {
    serve_identity(type, {kBatch, kAny}, "-1", 8);
    TestRequest alone, a, b, no_buffer;
    for (TestRequest* request : {&alone, &a, &b, &no_buffer}) {
      auto& input = request->add_raw_input("INPUT0", type, {2, 0}, "");
      if (request == &no_buffer) input.buffers = {};
      request->add_output("OUTPUT0");
      request->request().batch_size = 2;
    }
    execute({&alone});
    execute({&no_buffer});
    execute({&a, &b});
    for (TestRequest* request : {&alone, &a, &b, &no_buffer}) {
      EXPECT_EQ(output_bytes(*request, "OUTPUT0"), "");
      EXPECT_THAT(output_shape(*request, "OUTPUT0"), ElementsAre(2, 0));
    }
  }
}

TEST_F(OnnxInstanceTest, AModelWithoutBatchesTakesItsOwnShapes) {
  serve_identity(DataType::kInt64, {kAny, 2}, "-1, 2", 0);
  TestRequest a, b;
  a.add_input<int64_t>("INPUT0", DataType::kInt64, {1, 2}, {1, 2});
  b.add_input<int64_t>("INPUT0", DataType::kInt64, {2, 2}, {3, 4, 5, 6});
  a.add_output("OUTPUT0");
  b.add_output("OUTPUT0");
  execute({&a, &b});
  EXPECT_THAT(values_of<int64_t>(output_bytes(a, "OUTPUT0")), ElementsAre(1, 2));
  EXPECT_THAT(output_shape(b, "OUTPUT0"), ElementsAre(2, 2));
  EXPECT_THAT(values_of<int64_t>(output_bytes(b, "OUTPUT0")), ElementsAre(3, 4, 5, 6));
}

TEST_F(OnnxInstanceTest, AScalarIsConfiguredAsOneElement) {
  serve_identity(DataType::kFp64, {}, "1", 0);
  TestRequest request;
  request.add_input<double>("INPUT0", DataType::kFp64, {1}, {2.5});
  request.add_output("OUTPUT0");
  execute({&request});
  EXPECT_THAT(values_of<double>(output_bytes(request, "OUTPUT0")), ElementsAre(2.5));
  EXPECT_THAT(output_shape(request, "OUTPUT0"), ElementsAre(1));
}

TEST_F(OnnxInstanceTest, OnlyRequestedOutputsAreReturned) {
  serve(add_sub_graph(), kAddSubConfig);
  TestRequest sum, difference, both;
  for (TestRequest* request : {&sum, &difference, &both}) add_pair(*request, {5, 6}, {1, 2});
  sum.add_output("OUTPUT0");
  difference.add_output("OUTPUT1").spec_index = 1;
  both.add_output("OUTPUT1");
  both.add_output("OUTPUT0");
  execute({&sum, &difference, &both});
  ASSERT_EQ(sum.response().outputs.size(), 1u);
  EXPECT_THAT(values_of<float>(output_bytes(sum, "OUTPUT0")), ElementsAre(6, 8));
  ASSERT_EQ(difference.response().outputs.size(), 1u);
  EXPECT_THAT(values_of<float>(output_bytes(difference, "OUTPUT1")), ElementsAre(4, 4));
  EXPECT_EQ(both.response().outputs.size(), 2u);
}

TEST_F(OnnxInstanceTest, AnInputWithAnInitializerMayBeLeftOut) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).input("BIAS", DataType::kFp32, {kAny, 2});
  graph.initializer("BIAS", DataType::kFp32, {1, 2}, bytes_of<float>({10, 20}));
  graph.output("OUTPUT0", DataType::kFp32, {kBatch, 2}).node("Add", {"INPUT0", "BIAS"}, {"OUTPUT0"});
  serve(graph, R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    input { name: 'BIAS' data_type: TYPE_FP32 dims: 2 optional: true }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 })");
  TestRequest without, with;
  for (TestRequest* request : {&without, &with}) {
    request->add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
    request->add_output("OUTPUT0");
    request->request().batch_size = 1;
  }
  with.add_input<float>("BIAS", DataType::kFp32, {1, 2}, {100, 200});
  execute({&without, &with});
  EXPECT_THAT(values_of<float>(output_bytes(without, "OUTPUT0")), ElementsAre(11, 22));
  EXPECT_THAT(values_of<float>(output_bytes(with, "OUTPUT0")), ElementsAre(101, 202));
}

TEST_F(OnnxInstanceTest, ADataDependentShapeIsCopiedOut) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kAny}).output("OUTPUT0", DataType::kInt64, {1, kAny});
  graph.node("NonZero", {"INPUT0"}, {"OUTPUT0"});
  serve(graph, R"(input { name: 'INPUT0' data_type: TYPE_FP32 dims: -1 }
    output { name: 'OUTPUT0' data_type: TYPE_INT64 dims: [1, -1] })");
  TestRequest request;
  request.add_input<float>("INPUT0", DataType::kFp32, {4}, {0, 7, 0, 8});
  request.add_output("OUTPUT0");
  execute({&request});
  EXPECT_THAT(values_of<int64_t>(output_bytes(request, "OUTPUT0")), ElementsAre(1, 3));
  EXPECT_THAT(output_shape(request, "OUTPUT0"), ElementsAre(1, 2));
}

constexpr char kStateConfig[] =
    R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    output { name: 'OUTPUT1' data_type: TYPE_FP32 dims: 2 }
    sequence_batching { state { input_name: 'INPUT1' output_name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 } })";

/// Of one sequence, which begins with 1 and 2 and adds 5 and 6 in each step.
struct Steps {
  Steps() { state.add("INPUT1", "OUTPUT0", {DataType::kFp32, {1, 2}, bytes_of<float>({1, 2})}); }
  ~Steps() { EXPECT_THAT(state.problems(), testing::IsEmpty()); }
  void fill(TestRequest& request) {
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {5, 6});
    state.attach(*request);
    request->batch_size = 1;
  }
  std::vector<float> value() { return values_of<float>(state.value("OUTPUT0").bytes); }
  atl::test::FakeSequenceState state;
};

TEST_F(OnnxInstanceTest, StateGoesToTheSequence) {
  serve(add_sub_graph(), kStateConfig);
  Steps first, second, poor;
  poor.state.fail_outputs(Status(Code::kResourceExhausted, "no state"));
  TestRequest a, b, c;
  first.fill(a), second.fill(b), poor.fill(c);
  for (TestRequest* request : {&a, &b, &c}) request->add_output("OUTPUT1");
  execute({&a, &b, &c});
  EXPECT_THAT(first.value(), ElementsAre(6, 8));
  EXPECT_THAT(second.value(), ElementsAre(6, 8));
  EXPECT_THAT(poor.value(), ElementsAre(1, 2)) << "as it was";
  EXPECT_THAT(values_of<float>(output_bytes(a, "OUTPUT1")), ElementsAre(4, 4));
  EXPECT_EQ(a.response().outputs.size(), 1u);
  EXPECT_EQ(c.response().message, "no state");
}

TEST_F(OnnxInstanceTest, StateComesBackInTheNextRequest) {
  serve(add_sub_graph(), kStateConfig);
  Steps long_one, short_one;
  TestRequest requests[4];
  for (int i = 0; i < 3; ++i) {
    long_one.fill(requests[i]);
    requests[i].add_output("OUTPUT1");
  }
  short_one.fill(requests[3]);
  execute({&requests[0]});
  long_one.state.attach(*requests[1]);
  execute({&requests[1]});
  long_one.state.attach(*requests[2]);
  execute({&requests[2], &requests[3]});
  EXPECT_THAT(long_one.value(), ElementsAre(16, 20));
  EXPECT_THAT(short_one.value(), ElementsAre(6, 8)) << "sequences of one batch have their own";
  EXPECT_THAT(long_one.state.value("OUTPUT0").shape, ElementsAre(1, 2));
  EXPECT_EQ(long_one.state.commits("OUTPUT0"), 3u);
}

TEST_F(OnnxInstanceTest, StateOfALoneRequestWithoutOutputsIsKept) {
  serve(add_sub_graph(), R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 }
    sequence_batching { state { input_name: 'INPUT1' output_name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 } })");
  Steps steps;
  TestRequest silent, asking;
  steps.fill(silent);
  execute({&silent});
  EXPECT_THAT(steps.value(), ElementsAre(6, 8));
  EXPECT_EQ(silent.response().outputs.size(), 0u);
  steps.fill(asking);
  asking.add_output("OUTPUT0");
  execute({&asking});
  EXPECT_THAT(steps.value(), ElementsAre(11, 14));
  EXPECT_THAT(values_of<float>(output_bytes(asking, "OUTPUT0")), ElementsAre(11, 14));
}

/// Keeps the times of the last request.
class TimesReporter final : public InferenceReporter {
 public:
  virtual ~TimesReporter() = default;
  void report_request(const Request&, bool, const ExecutionTimes& reported) noexcept override {
    times = reported;
  }
  void report_batch(uint32_t, const ExecutionTimes&) noexcept override {}
  void report_failure(const Request&, FailureReason) noexcept override {}
  ExecutionTimes times;
};

TEST_F(OnnxInstanceTest, TimesAreThoseOfTheExecution) {
  serve_identity(DataType::kFp32, {kBatch, 2}, "2", 8);
  TimesReporter reporter;
  InstanceSpec spec;
  spec.reporter = &reporter;
  instance_ = model_->create_instance(spec).value();
  TestRequest request;
  request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  request.add_output("OUTPUT0");
  request->batch_size = 1;
  int64_t before = clock_.now_ns();
  execute({&request});
  EXPECT_LE(before, reporter.times.execute_start_ns);
  EXPECT_LE(reporter.times.execute_start_ns, reporter.times.compute_start_ns);
  EXPECT_LT(reporter.times.compute_start_ns, reporter.times.compute_end_ns);
  EXPECT_LE(reporter.times.compute_end_ns, reporter.times.execute_end_ns);
  EXPECT_LE(reporter.times.execute_end_ns, clock_.now_ns());
  instance_.reset();
}

TEST_F(OnnxInstanceTest, InstancesOfOneSessionRunAtTheSameTime) {
  serve_identity(DataType::kFp32, {kBatch, 2}, "2", 8);
  auto second = model_->create_instance({});
  ASSERT_TRUE(second.ok());
  auto work = [](BackendInstance& instance, float value) {
    for (int i = 0; i < 200; ++i) {
      TestRequest request;
      request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {value, value + 1});
      request.add_output("OUTPUT0");
      request->batch_size = 1;
      request.mark_accepted();
      Request* raw = &request.request();
      EXPECT_TRUE(instance.execute({{&raw, 1}, 1}).ok());
      EXPECT_THAT(values_of<float>(output_bytes(request, "OUTPUT0")), ElementsAre(value, value + 1));
    }
  };
  std::thread other([&] { work(**second, 100); });
  work(*instance_, 1);
  other.join();
}

}  // namespace
}  // namespace atl::ort::test
