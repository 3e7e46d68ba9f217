#include "models/catalog/requests/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "atoll/testing/recording_sink.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;

constexpr const char* kNote =
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended "
    "to each input shape. If you want to specify the full shape including the batch dim in your input dims "
    "config, try setting max_batch_size to zero. See the model configuration docs for more info on "
    "max_batch_size.";

TensorSpec spec(std::string name, DataType datatype, std::vector<int64_t> dims) {
  TensorSpec made;
  made.name = std::move(name);
  made.datatype = datatype;
  made.dims = std::move(dims);
  return made;
}

ModelInfo model(uint32_t max_batch_size, std::vector<TensorSpec> inputs) {
  ModelInfo info;
  info.name = "m";
  info.max_batch_size = max_batch_size;
  info.inputs = std::move(inputs);
  for (const TensorSpec& input : info.inputs) info.required_inputs += input.optional ? 0 : 1;
  info.outputs = {spec("X", DataType::kFp32, {1}), spec("Y", DataType::kFp32, {1})};
  return info;
}

ModelInfo one_float(uint32_t max_batch_size = 8) {
  return model(max_batch_size, {spec("A", DataType::kFp32, {2})});
}
ModelInfo one_text(std::vector<int64_t> dims = {2}) { return model(0, {spec("S", DataType::kBytes, dims)}); }

TensorSpec optional(TensorSpec made) {
  made.optional = true;
  return made;
}

void add_floats(TestRequest& request, std::string_view name, const std::vector<int64_t>& shape,
                size_t count) {
  request.add_input<float>(name, DataType::kFp32, shape, std::vector<float>(count));
}

struct Refusal {
  const char* name;
  ModelInfo info;
  std::function<void(TestRequest&)> fill;
  std::string text;
  CorrelationControl correlation = {};
  const char* id = "";
};

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, SaysWhatIsWrong) {
  const Refusal& refusal = GetParam();
  TestRequest request(refusal.id);
  refusal.fill(request);
  Status status = Validator(refusal.info, refusal.correlation).validate(*request);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), refusal.text);
}

const std::string kUnknown = "[request id: <id_unknown>] ";

std::vector<Refusal> refused_names() {
  ModelInfo two = model(0, {spec("A", DataType::kFp32, {2}), spec("B", DataType::kFp32, {2})});
  ModelInfo with_optional = model(0, {spec("A", DataType::kFp32, {2}), spec("B", DataType::kFp32, {2}),
                                      optional(spec("C", DataType::kFp32, {2}))});
  auto nothing = [](TestRequest&) {};
  return {
      {"UnexpectedOutput", one_float(), [](TestRequest& r) { r.add_output("Z"); },
       "unexpected inference output 'Z' for model 'm'"},
      {"NoInputs", two, nothing,
       kUnknown + "expected 2 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required "
                  "input(s) ['A','B']. Please provide all required input(s)."},
      {"OneMissing",
       two,
       [](TestRequest& r) { add_floats(r, "B", {2}, 2); },
       "[request id: 42] expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['B'], but missing "
       "required input(s) ['A']. Please provide all required input(s).",
       {},
       "42"},
      {"Surplus", one_float(0),
       [](TestRequest& r) {
         add_floats(r, "A", {2}, 2);
         add_floats(r, "Q", {2}, 2);
       },
       kUnknown +
           "expected 1 inputs but got 2 inputs for model 'm'. Got input(s) ['A','Q'], but the model has "
           "no input(s) ['Q']."},
      {"OptionalRange", with_optional, [](TestRequest& r) { add_floats(r, "A", {2}, 2); },
       kUnknown +
           "expected number of inputs between 2 and 3 but got 1 inputs for model 'm'. Got input(s) ['A'], "
           "but missing required input(s) ['B']. Please provide all required input(s)."},
      {"OptionalInsteadOfRequired", with_optional,
       [](TestRequest& r) {
         add_floats(r, "A", {2}, 2);
         add_floats(r, "C", {2}, 2);
       },
       kUnknown + "expected number of inputs between 2 and 3 but got 2 inputs for model 'm'. Got input(s) "
                  "['A','C'], but missing required input(s) ['B']. Please provide all required input(s)."},
      {"UnexpectedInput", one_float(0), [](TestRequest& r) { add_floats(r, "Q", {2}, 2); },
       "unexpected inference input 'Q' for model 'm'"},
      {"InputTwice", two,
       [](TestRequest& r) {
         add_floats(r, "A", {2}, 2);
         add_floats(r, "A", {2}, 2);
       },
       kUnknown + "input 'A' already exists in request"},
  };
}

std::vector<Refusal> refused_batches() {
  ModelInfo two_batched = model(8, {spec("A", DataType::kFp32, {2}), spec("B", DataType::kFp32, {2})});
  return {
      {"NoShape", one_float(), [](TestRequest& r) { add_floats(r, "A", {}, 2); },
       kUnknown + "input 'A' has no shape but model requires batch dimension for 'm'"},
      {"BatchesDiffer", two_batched,
       [](TestRequest& r) {
         add_floats(r, "A", {1, 2}, 2);
         add_floats(r, "B", {2, 2}, 4);
       },
       kUnknown + "input 'B' batch size does not match other inputs for 'm'"},
      {"BatchesDifferFirstZero", two_batched,
       [](TestRequest& r) {
         add_floats(r, "A", {0, 2}, 0);
         add_floats(r, "B", {2, 2}, 4);
       },
       kUnknown + "input 'B' batch size does not match other inputs for 'm'"},
      {"BatchTooLarge", one_float(),
       [](TestRequest& r) {
         add_floats(r, "A", {9, 2}, 18);
       },
       kUnknown + "inference request batch-size must be <= 8 for 'm'"},
      {"BatchBeyond32Bits", one_float(),
       [](TestRequest& r) {
         add_floats(r, "A", {(int64_t{1} << 32) + 1, 2}, 2);
       },
       kUnknown + "inference request batch-size must be <= 8 for 'm'"},
      {"BatchZero", one_float(),
       [](TestRequest& r) {
         add_floats(r, "A", {0, 2}, 0);
       },
       kUnknown + "inference request batch-size must be >= 1 for 'm'"},
      {"BatchNegative", one_float(),
       [](TestRequest& r) {
         add_floats(r, "A", {-1, 2}, 2);
       },
       kUnknown + "All input dimensions should be specified for input 'A' for model 'm', got [-1,2]"},
  };
}

std::vector<Refusal> refused_shapes() {
  ModelInfo variable = model(0, {spec("A", DataType::kFp32, {-1, 3})});
  ModelInfo huge = model(0, {spec("A", DataType::kFp32, {-1, -1})});
  return {
      {"Datatype", one_float(0),
       [](TestRequest& r) {
         r.add_input<int32_t>("A", DataType::kInt32, {2}, {1, 2});
       },
       kUnknown + "inference input 'A' data-type is 'INT32', but model 'm' expects 'FP32'"},
      {"VariableDimension", variable,
       [](TestRequest& r) {
         add_floats(r, "A", {-1, 3}, 3);
       },
       kUnknown + "All input dimensions should be specified for input 'A' for model 'm', got [-1,3]"},
      {"ShapeUnbatched", variable,
       [](TestRequest& r) {
         add_floats(r, "A", {1, 4}, 4);
       },
       kUnknown + "unexpected shape for input 'A' for model 'm'. Expected [-1,3], got [1,4]. "},
      {"ShapeBatched", one_float(),
       [](TestRequest& r) {
         add_floats(r, "A", {1, 3}, 3);
       },
       kUnknown + "unexpected shape for input 'A' for model 'm'. Expected [-1,2], got [1,3]. " + kNote},
      {"Rank", one_float(), [](TestRequest& r) { add_floats(r, "A", {2}, 2); },
       kUnknown + "unexpected shape for input 'A' for model 'm'. Expected [-1,2], got [2]. " + kNote},
      {"RankBeyondAll", one_float(0),
       [](TestRequest& r) { add_floats(r, "A", std::vector<int64_t>(100, 1), 1); },
       kUnknown + "unexpected shape for input 'A' for model 'm'. Expected [2], got "
                  "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,...]. "},
      {"ByteSize", one_float(),
       [](TestRequest& r) {
         add_floats(r, "A", {2, 2}, 3);
       },
       kUnknown + "input byte size mismatch for input 'A' for model 'm'. Expected 16, got 12"},
      {"ElementsOverflow", huge,
       [](TestRequest& r) {
         add_floats(r, "A", {16, (int64_t{1} << 60) + 2}, 1);
       },
       kUnknown +
           "byte size overflow for input 'A' for model 'm': [16,1152921504606846978] of FP32 is more than "
           "2^63 - 1 elements or bytes"},
      {"BytesOverflow", huge,
       [](TestRequest& r) {
         add_floats(r, "A", {4, (int64_t{1} << 60) + 2}, 2);
       },
       kUnknown +
           "byte size overflow for input 'A' for model 'm': [4,1152921504606846978] of FP32 is more than "
           "2^63 - 1 elements or bytes"},
  };
}

std::vector<Refusal> refused_strings() {
  return {
      {"StringLengthCut", one_text(),
       [](TestRequest& r) { r.add_raw_input("S", DataType::kBytes, {2}, std::string("\1\0\0\0a\1\0", 7)); },
       kUnknown +
           "incomplete string length indicator for inference input 'S' for model 'm', expecting 4 bytes but "
           "only 2 bytes available. Please make sure the string length indicator is in one buffer."},
      {"StringDataCut", one_text(),
       [](TestRequest& r) {
         r.add_raw_input("S", DataType::kBytes, {2}, std::string("\1\0\0\0a\5\0\0\0bc", 11));
       },
       "incomplete string data for inference input 'S', expecting string of length 5 but only 2 bytes "
       "available"},
      {"StringLengthHuge", one_text({1}),
       [](TestRequest& r) { r.add_raw_input("S", DataType::kBytes, {1}, "\xff\xff\xff\xff"); },
       "incomplete string data for inference input 'S', expecting string of length 4294967295 but only 0 "
       "bytes available"},
      {"TooManyStrings", one_text(),
       [](TestRequest& r) {
         r.add_bytes_input("S", {2}, {"a", "b", "c"});
       },
       kUnknown +
           "unexpected number of string elements 3 for inference input 'S' for model 'm', expecting 2"},
      {"TooFewStrings", one_text(), [](TestRequest& r) { r.add_bytes_input("S", {2}, {"a"}); },
       kUnknown + "expected 2 string elements for inference input 'S' for model 'm', got 1"},
  };
}

std::vector<Refusal> refused_correlations_and_raw_inputs() {
  ModelInfo two = model(0, {spec("A", DataType::kFp32, {2}), spec("B", DataType::kFp32, {2})});
  ModelInfo variable = model(0, {spec("A", DataType::kFp32, {-1, 3})});
  ModelInfo huge = model(0, {spec("A", DataType::kFp32, {-1, -1})});
  return {
      {"CorrelationNumber",
       one_float(0),
       [](TestRequest& r) {
         add_floats(r, "A", {2}, 2);
         r->sequence.number = 7;
       },
       kUnknown + "sequence batching control 'CORRID' data-type is 'UINT64', but model 'm' expects 'BYTES'",
       {"CORRID", DataType::kBytes}},
      {"CorrelationText",
       one_float(0),
       [](TestRequest& r) {
         add_floats(r, "A", {2}, 2);
         r->sequence.text = "7";
       },
       kUnknown + "sequence batching control 'CORRID' data-type is 'BYTES', but model 'm' expects 'INT64'",
       {"CORRID", DataType::kInt64}},
      {"RawOfTwo", two,
       [](TestRequest& r) {
         r.add_raw_input("", DataType::kInvalid, {}, "12345678").flags = InputTensor::kRaw;
       },
       kUnknown + "Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'm' model "
                  "configuration"},
      {"RawTwoVariable", huge,
       [](TestRequest& r) {
         r.add_raw_input("", DataType::kInvalid, {}, "12345678").flags = InputTensor::kRaw;
       },
       kUnknown +
           "The shape of the raw input 'A' can not be deduced because there are more than one variable-sized "
           "dimension"},
      {"RawText", one_text({2}),
       [](TestRequest& r) {
         r.add_raw_input("", DataType::kInvalid, {}, "12345678").flags = InputTensor::kRaw;
       },
       kUnknown + "For BYTE datatype raw input 'S', the model must have input shape [1]"},
      {"RawTextVariable", one_text({-1}),
       [](TestRequest& r) {
         r.add_raw_input("", DataType::kInvalid, {}, "12345678").flags = InputTensor::kRaw;
       },
       kUnknown + "For BYTE datatype raw input 'S', the model must have input shape [1]"},
      {"RawNotDivisible", variable,
       [](TestRequest& r) {
         r.add_raw_input("", DataType::kInvalid, {}, std::string(13, 'x')).flags = InputTensor::kRaw;
       },
       kUnknown + "input byte size mismatch for input 'A' for model 'm'. Expected 12, got 13"},
  };
}

std::vector<Refusal> refusals() {
  std::vector<Refusal> all;
  for (auto* part : {refused_names, refused_batches, refused_shapes, refused_strings,
                     refused_correlations_and_raw_inputs}) {
    std::vector<Refusal> some = part();
    for (Refusal& refusal : some) all.push_back(std::move(refusal));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Validate, Refusals, ::testing::ValuesIn(refusals()),
                         [](const auto& refusal) { return std::string(refusal.param.name); });

/// \returns "OK" or the refusal.
std::string validated(const ModelInfo& info, TestRequest& request, CorrelationControl correlation = {}) {
  return Validator(info, std::move(correlation)).validate(*request).text();
}

std::vector<int64_t> shape_of(TestRequest& request, size_t i = 0) {
  return {request->inputs[i].shape.begin(), request->inputs[i].shape.end()};
}

TEST(Validate, FillsInTheRequest) {
  ModelInfo info = model(8, {spec("A", DataType::kFp32, {2}), spec("B", DataType::kFp32, {-1})});
  TestRequest request;
  add_floats(request, "B", {3, 5}, 15);
  add_floats(request, "A", {3, 2}, 6);
  ASSERT_EQ(validated(info, request), "OK");
  EXPECT_EQ(request->batch_size, 3U);
  EXPECT_EQ(request->inputs[0].spec_index, 1);
  EXPECT_EQ(request->inputs[1].spec_index, 0);
  ASSERT_EQ(request->outputs.size(), 2U);
  EXPECT_EQ(request->outputs[0].name, "X");
  EXPECT_EQ(request->outputs[1].spec_index, 1);
}

TEST(Validate, KeepsAnOutputOnce) {
  TestRequest request;
  add_floats(request, "A", {1, 2}, 2);
  request.add_output("Y").classification = 3;
  request.add_output("Y");
  request.add_output("X");
  ASSERT_EQ(validated(one_float(), request), "OK");
  ASSERT_EQ(request->outputs.size(), 2U);
  EXPECT_EQ(request->outputs[0].spec_index, 1);
  EXPECT_EQ(request->outputs[0].classification, 3U);
  EXPECT_EQ(request->outputs[1].spec_index, 0);
}

TEST(Validate, LeavesSchedulerTensorsAlone) {
  TestRequest request;
  add_floats(request, "A", {1, 2}, 2);
  InputTensor& control = request.add_input<int32_t>("START", DataType::kInt32, {1}, {1});
  control.flags = InputTensor::kAddedByScheduler;
  EXPECT_EQ(validated(one_float(), request), "OK");
}

TEST(Validate, AcceptsZeroElements) {
  TestRequest floats;
  add_floats(floats, "A", {0, 3}, 0);
  EXPECT_EQ(validated(model(0, {spec("A", DataType::kFp32, {-1, 3})}), floats), "OK");
  TestRequest texts;
  texts.add_bytes_input("S", {0}, {});
  EXPECT_EQ(validated(one_text({-1}), texts), "OK");
}

TEST(Validate, WalksStringsOverBuffers) {
  std::string bytes = test::encode_bytes_tensor({"hello", "", "world"});
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    TestRequest request;
    request.add_raw_input("S", DataType::kBytes, {3}, bytes, {cut / 2, cut});
    EXPECT_EQ(validated(one_text({3}), request), "OK") << cut;
  }
}

TEST(Validate, TrustsTheBuffersNotTheirClaimedSum) {
  TestRequest request;
  add_floats(request, "A", {1, 2}, 1);
  request->inputs[0].size_bytes = 8;
  EXPECT_EQ(validated(one_float(), request),
            kUnknown + "input byte size mismatch for input 'A' for model 'm'. Expected 8, got 4");
}

TEST(Validate, ReshapesInputs) {
  ModelInfo info = model(8, {spec("A", DataType::kFp32, {2, -1, 3})});
  info.inputs[0].has_reshape = true;
  info.inputs[0].reshape = {6, -1};
  TestRequest request;
  add_floats(request, "A", {2, 2, 5, 3}, 60);
  ASSERT_EQ(validated(info, request), "OK");
  EXPECT_THAT(shape_of(request), ElementsAre(2, 6, 5));
}

TEST(Validate, ReshapesToScalars) {
  ModelInfo info = model(8, {spec("A", DataType::kFp32, {1})});
  info.inputs[0].has_reshape = true;
  TestRequest request;
  add_floats(request, "A", {4, 1}, 4);
  ASSERT_EQ(validated(info, request), "OK");
  EXPECT_THAT(shape_of(request), ElementsAre(4));
}

TEST(Validate, ShapeTensorsTakeNoPartInTheBatch) {
  ModelInfo info = model(8, {spec("A", DataType::kFp32, {2}), spec("D", DataType::kInt32, {2})});
  info.inputs[1].shape_tensor = true;
  TestRequest request;
  add_floats(request, "A", {3, 2}, 6);
  request.add_input<int32_t>("D", DataType::kInt32, {3}, {3, 4, 6});
  ASSERT_EQ(validated(info, request), "OK");
  EXPECT_EQ(request->batch_size, 3U);
  EXPECT_THAT(shape_of(request, 1), ElementsAre(3));
}

TEST(Validate, DeducesRawInputs) {
  TestRequest floats;
  floats.add_raw_input("", DataType::kInvalid, {}, std::string(24, 'x')).flags = InputTensor::kRaw;
  ModelInfo of_floats = model(8, {spec("A", DataType::kFp32, {-1, 3})});  // the request borrows names from it
  ASSERT_EQ(validated(of_floats, floats), "OK");
  EXPECT_EQ(floats->inputs[0].name, "A");
  EXPECT_EQ(floats->inputs[0].datatype, DataType::kFp32);
  EXPECT_EQ(floats->batch_size, 1U);
  EXPECT_THAT(shape_of(floats), ElementsAre(1, 2, 3));

  TestRequest text;
  text.add_raw_input("", DataType::kInvalid, {}, "hello", {2}).flags = InputTensor::kRaw;
  ModelInfo of_text = one_text({1});
  ASSERT_EQ(validated(of_text, text), "OK");
  EXPECT_EQ(test::input_bytes(text->inputs[0]), test::encode_bytes_tensor({"hello"}));
  EXPECT_EQ(text->inputs[0].size_bytes, 9U);
}

TEST(Validate, FindsNamesOfWideModels) {
  std::vector<TensorSpec> inputs;
  for (int i = 0; i < 200; ++i) inputs.push_back(spec(cat("I", i), DataType::kFp32, {1}));
  ModelInfo info = model(0, inputs);
  TestRequest request;
  for (int i = 199; i >= 0; --i) add_floats(request, cat("I", i), {1}, 1);
  ASSERT_EQ(validated(info, request), "OK");
  EXPECT_EQ(request->inputs[0].spec_index, 199);
  EXPECT_EQ(request->inputs[199].spec_index, 0);
  TestRequest twice;
  for (int i = 0; i < 199; ++i) add_floats(twice, cat("I", i), {1}, 1);
  add_floats(twice, "I130", {1}, 1);
  EXPECT_EQ(validated(info, twice), kUnknown + "input 'I130' already exists in request");
}

TEST(Validate, ChecksCorrelationOnlyIfThereIsOne) {
  TestRequest request;
  add_floats(request, "A", {2}, 2);
  EXPECT_EQ(validated(one_float(0), request, {"CORRID", DataType::kBytes}), "OK");
}

}  // namespace
}  // namespace atl::models
