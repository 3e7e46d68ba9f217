/// What models with ragged inputs are told about a batch, and how it can go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/onnxruntime/testing/ragged_graphs.h"

namespace atl::ort::test {
namespace {

using atl::test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kTwoTo30 = int64_t{1} << 30;
constexpr char kOne[] = "dims: 1 reshape { }";  // one value a row, without a dimension of its own

class OnnxRaggedTest : public OnnxInstanceTest {
 protected:
  /// INPUT of these shapes, in one batch.
  std::vector<Call> calls(const std::vector<std::vector<int64_t>>& shapes) {
    std::vector<Call> made;
    for (const auto& shape : shapes) {
      Call call{{}, {"TOLD"}, static_cast<uint32_t>(shape[0])};
      auto count = static_cast<size_t>(*element_count(shape));
      made.push_back(call.with("INPUT", DataType::kInt8, shape, std::vector<int8_t>(count)));
    }
    return made;
  }
  /// What each of the requests was told.
  template <class T>
  std::vector<std::vector<T>> told(const std::vector<std::vector<int64_t>>& shapes) {
    std::vector<std::vector<T>> all;
    for (const auto& answer : together(calls(shapes))) {
      all.push_back(values_in<T>(answer, "TOLD"));
    }
    return all;
  }
  /// A request that says that it has so many bytes. Nobody must look at them.
  static void claim(TestRequest& request, int64_t size_bytes) {
    alignas(64) static char nothing[64];
    InputTensor& input = request.add_raw_input("INPUT", DataType::kInt8, {1, size_bytes}, "");
    auto* buffer = request.request().arena().make<Buffer>();
    *buffer = Buffer{nothing, static_cast<uint64_t>(size_bytes)};
    input.buffers = {buffer, 1};
    request.add_output("TOLD");
    request->batch_size = 1;
  }
};

TEST_F(OnnxRaggedTest, TheRequestsAreLaidOutOneAfterTheOther) {
  serve(segment_sum_graph(), kSegmentSumConfig);
  Answers answers = together({segment_call({1, 2, 3}, 10), segment_call({}, 1), segment_call({4, 5}, -1)});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_THAT(values_in<float>(answers[0], "SUM"), ElementsAre(60));
  EXPECT_THAT(values_in<float>(answers[1], "SUM"), ElementsAre(0));
  EXPECT_THAT(values_in<float>(answers[2], "SUM"), ElementsAre(-9));
  EXPECT_THAT(values_in<float>(answers[0], "DOUBLE"), ElementsAre(2, 4, 6));
  EXPECT_THAT(output_in(answers[0], "DOUBLE").shape, ElementsAre(1, 3));
  EXPECT_THAT(output_in(answers[1], "DOUBLE").shape, ElementsAre(1, 0));
  EXPECT_THAT(values_in<float>(answers[2], "DOUBLE"), ElementsAre(8, 10));
  EXPECT_THAT(reporter_.batches(), ElementsAre(3u));
}

TEST_F(OnnxRaggedTest, CountsAreOfTheWholeBatch) {
  serve(telling_graph(DataType::kInt32, {kBatch}), telling_config("BATCH_ELEMENT_COUNT", "TYPE_INT32", kOne));
  EXPECT_THAT(told<int32_t>({{1, 3}, {1, 0}, {1, 5}}),
              ElementsAre(ElementsAre(3), ElementsAre(0), ElementsAre(5)));
  serve(telling_graph(DataType::kFp32, {kBatch}),
        telling_config("BATCH_ACCUMULATED_ELEMENT_COUNT", "TYPE_FP32", kOne));
  EXPECT_THAT(told<float>({{1, 3}, {1, 0}, {1, 5}}),
              ElementsAre(ElementsAre(3), ElementsAre(3), ElementsAre(8)));
}

TEST_F(OnnxRaggedTest, ItemShapesHaveARowForEachItem) {
  serve(telling_graph(DataType::kInt32, {kBatch, 1}),
        telling_config("BATCH_ITEM_SHAPE", "TYPE_INT32", "dims: 1"));
  EXPECT_THAT(told<int32_t>({{2, 3}, {1, 4}, {3, 1}}),
              ElementsAre(ElementsAre(3, 3), ElementsAre(4), ElementsAre(1, 1, 1)));
  serve(telling_graph(DataType::kFp32, {kBatch}),
        telling_config("BATCH_ITEM_SHAPE_FLATTEN", "TYPE_FP32", kOne));
  EXPECT_THAT(told<float>({{2, 3}, {1, 4}}), ElementsAre(ElementsAre(3, 3), ElementsAre(4)));
}

TEST_F(OnnxRaggedTest, TheLargestCountIsAShape) {
  OnnxGraph graph;
  graph.input("INPUT", DataType::kInt8, {kAny}).input("T", DataType::kFp32, {kAny});
  graph.input("ROWS", DataType::kInt64, {kBatch, 1}).output("TOLD", DataType::kInt64, {kBatch, 1});
  graph.output("CONTENT", DataType::kFp32, {kAny});
  graph.node("Shape", {"T"}, {"size"})
      .node("Add", {"size", "ROWS"}, {"TOLD"})
      .node("Identity", {"T"}, {"CONTENT"});
  serve(graph, R"(max_batch_size: 8
    input { name: 'INPUT' data_type: TYPE_INT8 dims: -1 allow_ragged_batch: true }
    input { name: 'ROWS' data_type: TYPE_INT64 dims: 1 }
    batch_input { kind: BATCH_MAX_ELEMENT_COUNT_AS_SHAPE target_name: 'T' data_type: TYPE_FP32
                  source_input: 'INPUT' }
    output { name: 'TOLD' data_type: TYPE_INT64 dims: 1 } output { name: 'CONTENT' data_type: TYPE_FP32 dims: -1 }
    batch_output { target_name: 'CONTENT' source_input: 'INPUT' })");
  auto made = calls({{1, 3}, {1, 5}, {1, 0}});
  for (Call& call : made) call.with<int64_t>("ROWS", DataType::kInt64, {1, 1}, {0});
  for (const auto& answer : together(made)) {
    EXPECT_THAT(values_in<int64_t>(answer, "TOLD"), ElementsAre(5));
  }
  Call alone = made[0];
  alone.outputs = {"CONTENT"};
  EXPECT_THAT(values_in<float>(together({alone})[0], "CONTENT"), ElementsAre(0, 0, 0));
}

TEST_F(OnnxRaggedTest, EachTargetOfAnEntryGetsTheValue) {
  OnnxGraph graph;
  graph.input("INPUT", DataType::kInt8, {kAny}).input("T", DataType::kInt32, {kBatch});
  graph.input("U", DataType::kInt32, {kBatch}).output("TOLD", DataType::kInt32, {kBatch});
  graph.node("Mul", {"T", "U"}, {"TOLD"});
  serve(graph,
        R"(max_batch_size: 8 input { name: 'INPUT' data_type: TYPE_INT8 dims: -1 allow_ragged_batch: true }
    batch_input { target_name: [ 'T', 'U' ] data_type: TYPE_INT32 source_input: 'INPUT' }
    output { name: 'TOLD' data_type: TYPE_INT32 dims: 1 reshape { } })");
  EXPECT_THAT(told<int32_t>({{1, 3}, {1, 5}}), ElementsAre(ElementsAre(9), ElementsAre(25)));
}

TEST_F(OnnxRaggedTest, AModelThatDoesNotBatchIsToldOfItsOneRequest) {
  serve(telling_graph(DataType::kInt32, {kAny}),
        R"(input { name: 'INPUT' data_type: TYPE_INT8 dims: [ -1, 2 ] allow_ragged_batch: true }
    batch_input { kind: BATCH_ITEM_SHAPE_FLATTEN target_name: 'T' data_type: TYPE_INT32 source_input: 'INPUT' }
    output { name: 'TOLD' data_type: TYPE_INT32 dims: -1 })");
  EXPECT_THAT(told<int32_t>({{3, 2}, {1, 2}}), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 2)));
}

TEST_F(OnnxRaggedTest, ScatteredPartsHaveTheirOwnShapes) {
  OnnxGraph graph;
  graph.input("INPUT", DataType::kInt8, {kAny}).output("TOLD", DataType::kInt8, {kAny});
  serve(graph.node("Identity", {"INPUT"}, {"TOLD"}), R"(max_batch_size: 8
    input { name: 'INPUT' data_type: TYPE_INT8 dims: [ -1, 2 ] allow_ragged_batch: true }
    output { name: 'TOLD' data_type: TYPE_INT8 dims: [ -1, 2 ] }
    batch_output { target_name: 'TOLD' source_input: 'INPUT' })");
  auto made = calls({{2, 1, 2}, {1, 3, 2}});
  made[0].inputs[0].bytes = "\1\2\3\4";
  made[1].inputs[0].bytes = "\5\6\7\10\11\12";
  Answers answers = together(made);
  EXPECT_EQ(output_in(answers[0], "TOLD").bytes, "\1\2\3\4");
  EXPECT_THAT(output_in(answers[0], "TOLD").shape, ElementsAre(2, 1, 2));
  EXPECT_EQ(output_in(answers[1], "TOLD").bytes, "\5\6\7\10\11\12");
  EXPECT_THAT(output_in(answers[1], "TOLD").shape, ElementsAre(1, 3, 2));
}

TEST_F(OnnxRaggedTest, AModelThatLosesElementsFailsItsRequests) {
  OnnxGraph graph;
  graph.input("INPUT", DataType::kInt8, {kAny}).output("TOLD", DataType::kInt64, {kAny, kAny});
  graph.node("Cast", {"INPUT"}, {"whole"}, {{"to", static_cast<int64_t>(to_onnx(DataType::kInt32))}});
  serve(graph.node("NonZero", {"whole"}, {"TOLD"}), R"(max_batch_size: 8
    input { name: 'INPUT' data_type: TYPE_INT8 dims: -1 allow_ragged_batch: true }
    output { name: 'TOLD' data_type: TYPE_INT64 dims: -1 }
    batch_output { target_name: 'TOLD' source_input: 'INPUT' })");
  for (const auto& answer : together(calls({{1, 3}, {1, 2}}))) {
    EXPECT_EQ(answer.code, Code::kInternal);
    EXPECT_EQ(answer.message,
              "output 'TOLD': found shape [1,0] from the model, expected 5 elements for the shapes of input "
              "'INPUT'");
  }
}

TEST_F(OnnxRaggedTest, AMissingSourceFailsItsRequestOnly) {
  OnnxGraph graph = telling_graph(DataType::kInt32, {kBatch});
  graph.initializer("INPUT", DataType::kInt8, {2}, "\1\2");
  std::string config = telling_config("BATCH_ELEMENT_COUNT", "TYPE_INT32", kOne);
  config.insert(config.find("allow_ragged_batch"), "optional: true ");
  serve(graph, config);
  auto made = calls({{1, 3}, {1, 2}});
  made[0].inputs.clear();
  Answers answers = together(made);
  EXPECT_EQ(answers[0].code, Code::kInvalidArgument);
  EXPECT_EQ(answers[0].message,
            "input 'T': found no input 'INPUT' in the request, expected one: its shape is needed");
  EXPECT_THAT(values_in<int32_t>(answers[1], "TOLD"), ElementsAre(2));
}

TEST_F(OnnxRaggedTest, AScatteredOutputNeedsItsSourceIfItIsAskedFor) {
  OnnxGraph graph;
  graph.input("INPUT", DataType::kInt8, {kAny}).input("ROWS", DataType::kInt8, {kBatch, 1});
  graph.initializer("INPUT", DataType::kInt8, {2}, "\1\2");
  graph.output("TOLD", DataType::kInt8, {kAny}).output("OTHER", DataType::kInt8, {kBatch, 1});
  graph.node("Identity", {"INPUT"}, {"TOLD"}).node("Identity", {"ROWS"}, {"OTHER"});
  serve(graph, R"(max_batch_size: 8 input { name: 'ROWS' data_type: TYPE_INT8 dims: 1 }
    input { name: 'INPUT' data_type: TYPE_INT8 dims: -1 allow_ragged_batch: true optional: true }
    output { name: 'TOLD' data_type: TYPE_INT8 dims: -1 } output { name: 'OTHER' data_type: TYPE_INT8 dims: 1 }
    batch_output { target_name: 'TOLD' source_input: 'INPUT' })");
  Call asking{{}, {"TOLD"}, 1}, other{{}, {"OTHER"}, 1};
  for (Call* call : {&asking, &other}) call->with<int8_t>("ROWS", DataType::kInt8, {1, 1}, {7});
  Answers answers = together({asking, other});
  EXPECT_EQ(answers[0].message,
            "output 'TOLD': found no input 'INPUT' in the request, expected one: its shape is needed");
  EXPECT_EQ(output_in(answers[1], "OTHER").bytes, "\7");
}

TEST_F(OnnxRaggedTest, ATotalThatDoesNotFitIsNeverWrapped) {
  serve(telling_graph(DataType::kInt32, {kBatch}),
        telling_config("BATCH_ACCUMULATED_ELEMENT_COUNT", "TYPE_INT32", kOne));
  for (int64_t size_bytes : {2 * kTwoTo30, int64_t{1} << 62}) {
    TestRequest a, b;
    claim(a, size_bytes);
    claim(b, size_bytes);
    execute({&a, &b});
    for (TestRequest* request : {&a, &b}) {
      EXPECT_EQ(request->response().code, Code::kInvalidArgument);
      EXPECT_EQ(request->response().message,
                cat("batch input 'T' (BATCH_ACCUMULATED_ELEMENT_COUNT of 'INPUT'): found ", size_bytes,
                    ", expected at most 2147483647, the largest INT32"));
    }
  }
}

TEST_F(OnnxRaggedTest, RequestsThatFitOnlyAloneRunAlone) {
  serve(telling_graph(DataType::kInt32, {kBatch}),
        telling_config("BATCH_ACCUMULATED_ELEMENT_COUNT", "TYPE_INT32", kOne));
  TestRequest a, b, small, large;
  claim(a, kTwoTo30);
  claim(b, kTwoTo30);
  claim(small, 5);
  claim(large, 2 * kTwoTo30);
  execute({&a, &large, &b, &small});
  EXPECT_THAT(values_of<int32_t>(output_bytes(a, "TOLD")), ElementsAre(kTwoTo30));
  EXPECT_THAT(values_of<int32_t>(output_bytes(b, "TOLD")), ElementsAre(kTwoTo30));
  EXPECT_THAT(values_of<int32_t>(output_bytes(small, "TOLD")), ElementsAre(5));
  EXPECT_EQ(large.response().code, Code::kInvalidArgument);
  EXPECT_THAT(reporter_.batches(), ElementsAre(3u));
}

TEST_F(OnnxRaggedTest, ATotalBeyond63BitsRunsAloneOrIsRefused) {
  // Without a batch input nothing but the joined tensor itself is too large.
  OnnxGraph graph;
  graph.input("INPUT", DataType::kInt8, {kAny}).input("ROWS", DataType::kInt8, {kBatch, 1});
  graph.output("TOLD", DataType::kInt8, {kBatch, 1}).node("Identity", {"ROWS"}, {"TOLD"});
  serve(graph, R"(max_batch_size: 8 input { name: 'ROWS' data_type: TYPE_INT8 dims: 1 }
    input { name: 'INPUT' data_type: TYPE_INT8 dims: -1 allow_ragged_batch: true }
    output { name: 'TOLD' data_type: TYPE_INT8 dims: 1 })");
  TestRequest a, b, broken;
  for (TestRequest* request : {&a, &b}) {
    claim(*request, int64_t{1} << 62);
    request->add_raw_input("ROWS", DataType::kInt8, {1, 1}, "\7");
  }
  broken.add_raw_input("INPUT", DataType::kInt8, {1, INT64_MAX, 4}, "");
  broken.add_raw_input("ROWS", DataType::kInt8, {1, 1}, "\7");
  broken.add_output("TOLD");
  broken->batch_size = 1;
  execute({&a, &b, &broken});
  EXPECT_EQ(output_bytes(a, "TOLD"), "\7");
  EXPECT_EQ(output_bytes(b, "TOLD"), "\7");
  EXPECT_THAT(broken.response().message, HasSubstr("input 'INPUT': found shape [1,9223372036854775807,4]"));
}

}  // namespace
}  // namespace atl::ort::test
