#include "backends/onnxruntime/autofill.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace atl::ort {
namespace {

using testing::HasSubstr;

OnnxTensor tensor(std::string name, DataType type, std::vector<int64_t> dims, bool has_default = false) {
  return {std::move(name), type, std::string(data_type_name(type)), std::move(dims), has_default};
}

Signature signature(std::vector<OnnxTensor> inputs, std::vector<OnnxTensor> outputs) {
  Signature made;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  for (const OnnxTensor& input : made.inputs) made.required_inputs += !input.has_default;
  return made;
}

/// A model with a variable first dimension everywhere.
Signature batching() {
  return signature({tensor("x", DataType::kFp32, {-1, 3, -1}), tensor("flag", DataType::kBool, {-1})},
                   {tensor("y", DataType::kBytes, {-1, 2})});
}

inference::ModelConfig config_of(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'm' " + text, &config)) << text;
  return config;
}

std::string completed(const std::string& text, const Signature& model, int64_t default_size = 4) {
  inference::ModelConfig config = config_of(text);
  Status status = complete(config, model, default_size);
  if (!status.ok()) return cat(code_name(status.code()), " ", status.message());
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string out;
  printer.PrintToString(config, &out);
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

const char kInputs[] =
    "input { name: \"x\" data_type: TYPE_FP32 dims: 3 dims: -1 } "
    "input { name: \"flag\" data_type: TYPE_BOOL dims: 1 reshape { } }";
const char kOutputs[] = "output { name: \"y\" data_type: TYPE_STRING dims: 2 }";

TEST(AutofillTest, IsCompleteWithInputsAndOutputs) {
  EXPECT_FALSE(is_complete(config_of("")));
  EXPECT_FALSE(is_complete(config_of(kInputs)));
  EXPECT_FALSE(is_complete(config_of(kOutputs)));
  EXPECT_TRUE(is_complete(config_of(cat(kInputs, " ", kOutputs))));
  EXPECT_TRUE(is_complete(config_of(cat("batch_input { target_name: 'x' } ", kOutputs))));
}

TEST(AutofillTest, ABatchingModelGetsSizeBatcherAndTensors) {
  EXPECT_EQ(completed("", batching()),
            cat("name: \"m\" max_batch_size: 4 ", kInputs, " ", kOutputs, " dynamic_batching { }"));
}

TEST(AutofillTest, TheDefaultSizeIsAskedForOnlyIfNoneIsWritten) {
  EXPECT_THAT(completed("", batching(), 64), HasSubstr("max_batch_size: 64 "));
  EXPECT_THAT(completed("max_batch_size: 2", batching(), 64), HasSubstr("max_batch_size: 2 "));
  EXPECT_THAT(completed("max_batch_size: 2", batching(), 64), HasSubstr("dynamic_batching { }"));
}

TEST(AutofillTest, ABatchSizeOfOneNeedsNoBatcher) {
  EXPECT_EQ(completed("", batching(), 1), cat("name: \"m\" max_batch_size: 1 ", kInputs, " ", kOutputs));
}

TEST(AutofillTest, ADefaultOfZeroOrLessLeavesBatchingOff) {
  std::string expected =
      cat("name: \"m\" input { name: \"x\" data_type: TYPE_FP32 dims: -1 dims: 3 dims: -1 } ",
          "input { name: \"flag\" data_type: TYPE_BOOL dims: -1 } ",
          "output { name: \"y\" data_type: TYPE_STRING dims: -1 dims: 2 }");
  EXPECT_EQ(completed("", batching(), 0), expected);
  EXPECT_EQ(completed("", batching(), -7), expected);
}

TEST(AutofillTest, AWrittenSchedulerStays) {
  EXPECT_THAT(completed("sequence_batching { }", batching()), Not(HasSubstr("dynamic_batching")));
  EXPECT_THAT(completed("dynamic_batching { max_queue_delay_microseconds: 5 }", batching()),
              HasSubstr("dynamic_batching { max_queue_delay_microseconds: 5 }"));
}

TEST(AutofillTest, WhatTheSchedulerGivesIsNoInputOfClients) {
  const std::string sequences =
      "sequence_batching { control_input { name: \"flag\" } state { input_name: \"s\" output_name: \"t\" } }";
  Signature model = batching();
  model.inputs.push_back(tensor("s", DataType::kFp32, {-1, 2}));
  model.required_inputs = model.inputs.size();
  const std::string text = completed("max_batch_size: 4 " + sequences, model);
  EXPECT_THAT(text, HasSubstr("input { name: \"x\" data_type: TYPE_FP32 dims: 3 dims: -1 } output {"));
}

TEST(AutofillTest, WrittenListsStay) {
  std::string written = "input { name: \"only\" data_type: TYPE_INT8 dims: 9 }";
  EXPECT_EQ(completed(written, batching()),
            cat("name: \"m\" max_batch_size: 4 ", written, " ", kOutputs, " dynamic_batching { }"));
  EXPECT_EQ(completed(kOutputs, batching()),
            cat("name: \"m\" max_batch_size: 4 ", kInputs, " ", kOutputs, " dynamic_batching { }"));
}

TEST(AutofillTest, AModelThatCanNotBatchIsTakenAsItIs) {
  Signature fixed = signature({tensor("x", DataType::kFp32, {2, 3})}, {tensor("y", DataType::kFp32, {-1})});
  EXPECT_EQ(completed("", fixed),
            "name: \"m\" input { name: \"x\" data_type: TYPE_FP32 dims: 2 dims: 3 } "
            "output { name: \"y\" data_type: TYPE_FP32 dims: -1 }");
  Signature scalar = signature({tensor("x", DataType::kFp32, {-1})}, {tensor("y", DataType::kFp32, {})});
  EXPECT_EQ(completed("", scalar),
            "name: \"m\" input { name: \"x\" data_type: TYPE_FP32 dims: -1 } "
            "output { name: \"y\" data_type: TYPE_FP32 dims: 1 }");
}

TEST(AutofillTest, AWrittenBatchSizeForAModelThatCanNotBatchIsAnError) {
  Signature fixed = signature({tensor("x", DataType::kFp32, {2, 3})}, {tensor("y", DataType::kFp32, {-1})});
  EXPECT_EQ(completed("max_batch_size: 1", fixed),
            "INVALID_ARGUMENT autofill failed for model 'm': model does not support batching while non-zero "
            "max_batch_size is specified");
}

TEST(AutofillTest, InputsWithADefaultAreLeftToTheClient) {
  Signature model = batching();
  model.inputs.push_back(tensor("bias", DataType::kFp32, {3}, true));
  EXPECT_THAT(completed("", model), Not(HasSubstr("bias")));
  EXPECT_THAT(completed("", model), HasSubstr("max_batch_size: 4"));
}

TEST(AutofillTest, AnUnknownTypeIsNamed) {
  Signature model = batching();
  model.outputs[0].datatype = DataType::kInvalid;
  model.outputs[0].type_text = "sequence";
  EXPECT_EQ(completed("", model),
            "INVALID_ARGUMENT autofill failed for model 'm': tensor 'y' is of type sequence, expected a "
            "tensor of a "
            "type of the protocol");
}

std::string checked(const std::string& text, const Signature& model) {
  Status status = check_against_model(config_of(text), model);
  return status.ok() ? "OK" : std::string(status.message());
}

const char kX[] = "input { name: 'x' data_type: TYPE_FP32 dims: [3, -1] } ";
const char kFlag[] = "input { name: 'flag' data_type: TYPE_BOOL dims: 1 reshape { } } ";
const char kY[] = "output { name: 'y' data_type: TYPE_STRING dims: 2 } ";

TEST(CheckAgainstModelTest, AcceptsWhatFits) {
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX, kFlag, kY), batching()), "OK");
  EXPECT_EQ(checked(cat("max_batch_size: 8 input { name: 'x' data_type: TYPE_FP32 dims: [-1, 7] } ", kFlag),
                    batching()),
            "OK");
  EXPECT_EQ(checked("input { name: 'x' data_type: TYPE_FP32 dims: [5, 3, 2] } "
                    "input { name: 'flag' data_type: TYPE_BOOL dims: 4 }",
                    batching()),
            "OK");
}

TEST(CheckAgainstModelTest, RefusesUnknownNames) {
  EXPECT_EQ(
      checked(cat("max_batch_size: 8 input { name: 'z' data_type: TYPE_FP32 dims: 1 } ", kX), batching()),
      "unexpected inference input 'z', allowed inputs are: x, flag");
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX, kFlag, "output { name: 'z' data_type: TYPE_FP32 dims: 1 }"),
                    batching()),
            "unexpected inference output 'z', allowed outputs are: y");
}

TEST(CheckAgainstModelTest, RefusesMoreInputsThanThereAre) {
  const char kZ[] = "input { name: 'z' data_type: TYPE_FP32 dims: 1 } ";
  const std::string text = "unable to load model 'm', configuration expects 3 inputs, model provides 2";
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX, kFlag, kZ), batching()), text);
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX, kFlag, "sequence_batching { control_input { name: 'c' } }"),
                    batching()),
            text);
}

TEST(CheckAgainstModelTest, RefusesAMissingInput) {
  EXPECT_EQ(
      checked(cat("max_batch_size: 8 ", kX, kY), batching()),
      "unable to load model 'm', configuration expects 1 inputs, model provides 2: input 'flag' is missing");
}

TEST(CheckAgainstModelTest, InputsOfTheSchedulerCount) {
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX, "sequence_batching { control_input { name: 'flag' } }"),
                    batching()),
            "OK");
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX, "batch_input { target_name: 'flag' data_type: TYPE_BOOL }"),
                    batching()),
            "OK");
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX,
                        "sequence_batching { state { input_name: 'flag' output_name: 'n' "
                        "data_type: TYPE_BOOL } }"),
                    batching()),
            "unexpected state output 'n', allowed outputs are: y");
}

TEST(CheckAgainstModelTest, RefusesAnotherDatatype) {
  EXPECT_EQ(checked(cat("max_batch_size: 8 input { name: 'x' data_type: TYPE_FP16 dims: [3, -1] } ", kFlag),
                    batching()),
            "unexpected datatype FP16 for input 'x', expecting FP32");
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", kX, kFlag, "output { name: 'y' data_type: TYPE_INT8 dims: 2 }"),
                    batching()),
            "unexpected datatype INT8 for output 'y', expecting BYTES");
}

TEST(CheckAgainstModelTest, RefusesAnotherShape) {
  EXPECT_EQ(
      checked(cat("max_batch_size: 8 input { name: 'x' data_type: TYPE_FP32 dims: [4, -1] } ", kFlag),
              batching()),
      "tensor 'x': the model expects 3 dimensions (shape [-1,3,-1]) but the model configuration specifies 3 "
      "dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor "
      "shape, making complete shape [-1,4,-1])");
  EXPECT_EQ(
      checked(cat("input { name: 'x' data_type: TYPE_FP32 dims: [3, -1] } ", kFlag), batching()),
      "tensor 'x': the model expects 3 dimensions (shape [-1,3,-1]) but the model configuration specifies 2 "
      "dimensions (shape [3,-1])");
}

TEST(CheckAgainstModelTest, BatchingNeedsAVariableFirstDimension) {
  Signature fixed = signature({tensor("x", DataType::kFp32, {2, 3})}, {});
  EXPECT_EQ(checked("max_batch_size: 8 input { name: 'x' data_type: TYPE_FP32 dims: 3 }", fixed),
            "tensor 'x': for the model to support batching the shape should have at least 1 dimension and "
            "the first dimension must be -1; but shape expected by the model is [2,3]");
}

/// A model for ragged batches: x is flat, n grows with the requests, s has a row for each item.
Signature ragging() {
  return signature({tensor("x", DataType::kFp32, {-1}), tensor("n", DataType::kInt32, {-1}),
                    tensor("s", DataType::kFp32, {-1, 2})},
                   {tensor("y", DataType::kFp32, {-1})});
}
const char kRagged[] = "input { name: 'x' data_type: TYPE_FP32 dims: [-1, 3] allow_ragged_batch: true } ";
const char kCount[] = "batch_input { target_name: 'n' data_type: TYPE_INT32 source_input: 'x' } ";
const char kShape[] =
    "batch_input { kind: BATCH_ITEM_SHAPE target_name: 's' data_type: TYPE_FP32 source_input: 'x' } ";

TEST(CheckAgainstModelTest, WhatABackendMakesOfARaggedBatchMustFit) {
  std::string config = cat("max_batch_size: 8 ", kRagged, kCount, kShape);
  EXPECT_EQ(checked(config, ragging()), "OK");
  Signature model = ragging();
  model.inputs[0].dims = {-1, 3};
  EXPECT_EQ(checked(config, model),
            "tensor 'x': the model expects shape [-1,3], but allow_ragged_batch gives it shape [-1]");
  model = ragging();
  model.inputs[1].dims = {-1, 1};
  EXPECT_EQ(checked(config, model),
            "tensor 'n': the model expects shape [-1,1], but BATCH_ELEMENT_COUNT gives it shape [-1]");
  model = ragging();
  model.inputs[2].dims = {-1, 3};
  EXPECT_EQ(checked(config, model),
            "tensor 's': the model expects shape [-1,3], but BATCH_ITEM_SHAPE gives it shape [-1,2]");
  model.inputs[2].dims = {-1, -1};
  EXPECT_EQ(checked(config, model), "OK");
  model.inputs[2].datatype = DataType::kInt32;
  model.inputs[2].type_text = "INT32";
  EXPECT_EQ(checked(config, model), "unexpected datatype FP32 for input 's', expecting INT32");
  EXPECT_EQ(
      checked(cat("max_batch_size: 8 ", kRagged, kShape), ragging()),
      "unable to load model 'm', configuration expects 2 inputs, model provides 3: input 'n' is missing");
}

TEST(CheckAgainstModelTest, AFirstDimensionThatGrowsMustBeVariableUnlessThereIsOneRequest) {
  Signature model = ragging();
  model.inputs[1].dims = {1};
  std::string config = cat(kRagged, kCount, kShape);
  EXPECT_EQ(checked(cat("max_batch_size: 8 ", config), model),
            "tensor 'n': the model expects shape [1], but BATCH_ELEMENT_COUNT gives it shape [-1]");
  EXPECT_EQ(checked(cat("max_batch_size: 1 ", config), model), "OK");
  EXPECT_EQ(checked(config, model), "OK");
}

TEST(CheckAgainstModelTest, AScatteredOutputMayHaveAnyShape) {
  const char output[] = "output { name: 'y' data_type: TYPE_FP32 dims: [-1, 3] } ";
  std::string config = cat("max_batch_size: 8 ", kRagged, kCount, kShape, output);
  EXPECT_THAT(checked(config, ragging()), HasSubstr("tensor 'y': the model expects 1 dimensions"));
  EXPECT_EQ(checked(cat(config, "batch_output { target_name: 'y' source_input: 'x' }"), ragging()), "OK");
}

TEST(CheckAgainstModelTest, AShapeTheModelDoesNotStateIsTakenFromTheConfiguration) {
  Signature model = signature({tensor("x", DataType::kFp32, {-1, 3})}, {tensor("y", DataType::kFp32, {})});
  EXPECT_EQ(checked("max_batch_size: 8 input { name: 'x' data_type: TYPE_FP32 dims: 3 } "
                    "output { name: 'y' data_type: TYPE_FP32 dims: [5, 6] }",
                    model),
            "OK");
}

}  // namespace
}  // namespace atl::ort
