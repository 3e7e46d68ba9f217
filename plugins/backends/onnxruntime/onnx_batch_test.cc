/// Requests that run together get what they would get alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/random.h"
#include "backends/onnxruntime/testing/ragged_graphs.h"

namespace atl::ort::test {
namespace {

using atl::test::bytes_of;
using atl::test::encode_bytes_tensor;
using atl::test::Random;
using testing::ElementsAre;
using testing::HasSubstr;

class OnnxBatchTest : public OnnxInstanceTest {
 protected:
  /// Batches of 2 to 5 calls, each made by make(random).
  template <class Make>
  void compare_many(Make make) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      std::vector<Call> calls;
      for (int64_t i = random.between(2, 5); i > 0; --i) calls.push_back(make(random));
      expect_the_same_together(calls, static_cast<size_t>(random.below(9)));
    }
  }
};

/// Small whole numbers, so that no order of additions shows.
std::vector<float> numbers(Random& random, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.between(-99, 99)));
  return values;
}

TEST_F(OnnxBatchTest, FixedDimensions) {
  serve(add_sub_graph(), kAddSubConfig);
  compare_many([](Random& random) {
    Call call;
    int64_t rows = random.between(1, 3);
    call.batch_size = static_cast<uint32_t>(rows);
    for (const char* name : {"INPUT0", "INPUT1"}) {
      call.with(name, DataType::kFp32, {rows, 2}, numbers(random, rows * 2));
    }
    if (random.chance(80)) call.outputs.push_back("OUTPUT1");
    if (random.chance(80)) call.outputs.push_back("OUTPUT0");
    return call;
  });
}

TEST_F(OnnxBatchTest, VariableDimensionsEqualOrNot) {
  serve_identity(DataType::kFp32, {kBatch, kAny, 2}, "-1, 2", 8);
  compare_many([](Random& random) {
    Call call;
    int64_t rows = random.between(1, 3), columns = random.between(0, 2);
    call.batch_size = static_cast<uint32_t>(rows);
    call.with("INPUT0", DataType::kFp32, {rows, columns, 2}, numbers(random, rows * columns * 2));
    call.outputs = {"OUTPUT0"};
    return call;
  });
}

TEST_F(OnnxBatchTest, Texts) {
  serve_identity(DataType::kBytes, {kBatch, 2}, "2", 8);
  compare_many([](Random& random) {
    std::vector<std::string> elements = {cat(random.next()), std::string(random.below(300), 'x')};
    return Call{{{"INPUT0", DataType::kBytes, {1, 2}, encode_bytes_tensor(elements)}}, {"OUTPUT0"}, 1};
  });
}

TEST_F(OnnxBatchTest, RaggedInputsWithOffsetsAndScatteredOutputs) {
  serve(segment_sum_graph(), kSegmentSumConfig);
  compare_many([](Random& random) {
    Call call = segment_call(numbers(random, random.between(0, 6)), static_cast<float>(random.between(1, 9)));
    if (random.chance(30)) call.outputs = {"DOUBLE"};
    return call;
  });
}

TEST_F(OnnxBatchTest, RaggedTexts) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kBytes, {kAny}).output("OUTPUT0", DataType::kBytes, {kAny});
  serve(graph.node("Identity", {"INPUT0"}, {"OUTPUT0"}), R"(max_batch_size: 8
    input { name: 'INPUT0' data_type: TYPE_STRING dims: -1 allow_ragged_batch: true }
    output { name: 'OUTPUT0' data_type: TYPE_STRING dims: -1 }
    batch_output { target_name: 'OUTPUT0' source_input: 'INPUT0' })");
  compare_many([](Random& random) {
    std::vector<std::string> elements;
    for (int64_t i = random.between(0, 4); i > 0; --i) elements.emplace_back(random.below(50), 'x');
    auto count = static_cast<int64_t>(elements.size());
    return Call{{{"INPUT0", DataType::kBytes, {1, count}, encode_bytes_tensor(elements)}}, {"OUTPUT0"}, 1};
  });
}

TEST_F(OnnxBatchTest, OptionalInputsGivenOrLeftOut) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).input("BIAS", DataType::kFp32, {kAny, 2});
  graph.initializer("BIAS", DataType::kFp32, {1, 2}, bytes_of<float>({10, 20}));
  graph.output("OUTPUT0", DataType::kFp32, {kBatch, 2}).node("Add", {"INPUT0", "BIAS"}, {"OUTPUT0"});
  serve(graph, R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    input { name: 'BIAS' data_type: TYPE_FP32 dims: 2 optional: true }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 })");
  compare_many([](Random& random) {
    Call call;
    int64_t rows = random.between(1, 2);
    call.batch_size = static_cast<uint32_t>(rows);
    call.with("INPUT0", DataType::kFp32, {rows, 2}, numbers(random, rows * 2));
    if (random.chance(50)) call.with("BIAS", DataType::kFp32, {rows, 2}, numbers(random, rows * 2));
    call.outputs = {"OUTPUT0"};
    return call;
  });
}

TEST_F(OnnxBatchTest, RequestsWithoutAnyInputEachGetTheModelsDefault) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kFp32, {kBatch, 2}).output("OUTPUT0", DataType::kFp32, {kBatch, 2});
  graph.initializer("INPUT0", DataType::kFp32, {1, 2}, bytes_of<float>({10, 20}));
  graph.node("Neg", {"INPUT0"}, {"OUTPUT0"});
  serve(graph, R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 optional: true }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 })");
  Call empty{{}, {"OUTPUT0"}, 0}, full{{}, {"OUTPUT0"}, 1};
  full.with<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  expect_the_same_together({empty, full, empty});
  EXPECT_THAT(values_in<float>(together({empty, empty})[1], "OUTPUT0"), ElementsAre(-10, -20));
}

TEST_F(OnnxBatchTest, ValuesThatTheModelRefusesFailTheirRequestOnly) {
  OnnxGraph graph;
  graph.input("INPUT0", DataType::kInt64, {kBatch, 1}).output("OUTPUT0", DataType::kFp32, {kBatch, 1});
  graph.initializer("TABLE", DataType::kFp32, {3}, bytes_of<float>({10, 20, 30}));
  serve(graph.node("Gather", {"TABLE", "INPUT0"}, {"OUTPUT0"}), R"(max_batch_size: 8
    input { name: 'INPUT0' data_type: TYPE_INT64 dims: 1 } output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 1 })");
  std::vector<Call> calls;
  for (int64_t index : {1, 99, 2, -7, 0}) {
    calls.push_back(Call{{}, {"OUTPUT0"}, 1}.with<int64_t>("INPUT0", DataType::kInt64, {1, 1}, {index}));
  }
  expect_the_same_together(calls);
  Answers answers = together(calls);
  EXPECT_THAT(values_in<float>(answers[2], "OUTPUT0"), ElementsAre(30));
  EXPECT_THAT(answers[1].message, HasSubstr("model 'm': "));
  EXPECT_THAT(answers[3].message, HasSubstr("-7"));
}

TEST_F(OnnxBatchTest, AnOptionalInputWithoutDefaultIsMissedClearly) {
  serve(add_sub_graph(), R"(max_batch_size: 8 input { name: 'INPUT0' data_type: TYPE_FP32 dims: 2 }
    input { name: 'INPUT1' data_type: TYPE_FP32 dims: 2 optional: true }
    output { name: 'OUTPUT0' data_type: TYPE_FP32 dims: 2 })");
  Call without{{}, {"OUTPUT0"}, 1};
  without.with<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  Call with = without;
  with.with<float>("INPUT1", DataType::kFp32, {1, 2}, {3, 4});
  Answers answers = together({with, without, with});
  EXPECT_EQ(answers[1].code, Code::kInvalidArgument);
  EXPECT_EQ(answers[1].message,
            "input 'INPUT1': found none, expected one: the model 'm' has no default for it");
  for (size_t i : {0, 2}) {
    EXPECT_THAT(values_in<float>(answers[i], "OUTPUT0"), ElementsAre(4, 6));
  }
  EXPECT_THAT(reporter_.batches(), ElementsAre(2u));
}

}  // namespace
}  // namespace atl::ort::test
