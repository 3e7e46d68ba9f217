#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

std::string input(const std::string& text) { return "input { name: 'i' data_type: TYPE_FP32 " + text + " }"; }

TEST(ValidateTensors, InputsAndOutputs) {
  const std::string dims_text =
      "model input 'i' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m";
  const std::string reshape_text =
      "model input 'i' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension "
      "for m";
  expect_messages(
      "backend: 'b' ",
      {{"", "OK"},
       {"input { }", "model input must specify 'name' for m"},
       {"output { }", "model output must specify 'name' for m"},
       {"input { name: 'i' dims: 1 }", "model input 'i' must specify 'data_type' for m"},
       {"output { name: 'o' dims: 1 }", "model output 'o' must specify 'data_type' for m"},
       {input(""), "model input 'i' must specify 'dims' for m"},
       {input("dims: 1 reshape { }"),
        "model input 'i' cannot have empty reshape for non-batching model as scalar tensors are not "
        "supported for "
        "m"},
       {input("dims: 0"), dims_text},
       {input("dims: [ 1, -2 ]"), dims_text},
       {input("dims: [ 1, -1 ]"), "OK"},
       {input("dims: 2 reshape { shape: 0 }"), reshape_text},
       {input("dims: 2 reshape { shape: [ -2 ] }"), reshape_text},
       {input("dims: [ 4611686018427387904, 4611686018427387904 ]"),
        "element count for tensor 'i' exceeds maximum size of 9223372036854775807"},
       {input("dims: [ 4611686018427387904, -1 ]"),
        "byte size for tensor 'i' exceeds maximum size of 9223372036854775807"},
       {input("dims: [ 2, 3 ] reshape { shape: 6 }"), "OK"},
       {input("dims: [ 2, 3 ] reshape { shape: 5 }"),
        "model input 'i' has different size for dims and reshape for m"},
       {input("dims: [ 2, -1 ] reshape { shape: 2 }"),
        "model input 'i' has different size for dims and reshape for m"},
       {input("dims: [ 2, -1 ] reshape { shape: [ -1, -1 ] }"),
        "model input 'i' has different number of variable-size dimensions for dims and reshape for m"},
       {input("dims: [ 2, 4, -1, 6 ] reshape { shape: [ 8, -1, 1, 6 ] }"), "OK"},
       {input("dims: [ 2, 4, -1, 6 ] reshape { shape: [ 6, -1, 8 ] }"),
        "model input 'i' has different size for dims and reshape for m"},
       {input("format: FORMAT_NHWC dims: [ 1, 2 ]"), "model input NHWC/NCHW require 3 dims for m"},
       {input("format: FORMAT_NCHW dims: [ 1, 2, 3 ]"), "OK"},
       {input("is_shape_tensor: true dims: 1"),
        "shape tensors are only supported for TensorRT platform for m"},
       {input("is_non_linear_format_io: true dims: 1"),
        "Non-linear IO format is only supported for the TensorRT platform for m"},
       {"output { name: 'o' data_type: TYPE_FP32 dims: 1 is_shape_tensor: true }",
        "shape tensors are only supported for TensorRT platform for m"},
       {input("dims: 1") + input("dims: 2"), "model input 'i' is specified more than once for m"},
       {"output { name: 'o' data_type: TYPE_FP32 dims: 1 } output { name: 'o' data_type: TYPE_FP32 dims: 1 }",
        "model output 'o' is specified more than once for m"}},
      true);
}

TEST(ValidateTensors, Batching) {
  expect_messages(
      "backend: 'b' max_batch_size: 2 ",
      {{input("dims: 1 reshape { }"), "OK"},
       {input("dims: 2 reshape { }"), "model input 'i' has different size for dims and reshape for m"},
       {input("dims: -1 reshape { }"), "model input 'i' has different size for dims and reshape for m"}},
      true);
}

TEST(ValidateTensors, TensorRt) {
  expect_messages(
      "backend: 'tensorrt' ",
      {{input("is_shape_tensor: true dims: 1"), "OK"},
       {input("is_non_linear_format_io: true dims: [ 1, 2, 3 ]"), "OK"},
       {input("is_non_linear_format_io: true dims: 1"), "Non-linear IO format input requires 3 dims for m"},
       {"output { name: 'o' data_type: TYPE_FP32 dims: 1 is_non_linear_format_io: true }",
        "Non-linear IO format output requires 3 dims for m"}},
      true);
}

TEST(ValidateTensors, Bounds) {
  auto rank = [](int dims) {
    std::string text = "dims: [ 1";
    for (int i = 1; i < dims; ++i) text += ", 1";
    return input(text + " ]");
  };
  auto many = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += cat("input { name: 'i", i, "' data_type: TYPE_INT8 dims: 1 } ");
    return text;
  };
  auto name = [](size_t bytes) {
    return cat("output { name: '", std::string(bytes, 'n'), "' data_type: TYPE_INT8 dims: 1 }");
  };
  expect_messages(
      "backend: 'b' ",
      {{rank(32), "OK"},
       {rank(33), "model input 'i' has 33 dimensions with the batch dimension, expected at most 32 for m"},
       {"max_batch_size: 1 " + rank(31), "OK"},
       {"max_batch_size: 1 " + rank(32),
        "model input 'i' has 33 dimensions with the batch dimension, expected at most 32 for m"},
       {many(1024), "OK"},
       {many(1025), "model m has 1025 inputs, expected at most 1024"},
       {name(255), "OK"},
       {name(256), "model output name has 256 bytes, expected at most 255 for m"}},
      true);
}

TEST(ValidateTensors, OnlyInStrictModeAndWhenFinished) {
  const std::string text = "backend: 'b' input { name: 'i' }";
  EXPECT_EQ(read_message(text, false), "OK");
  EXPECT_EQ(read_message(text, true), "model input 'i' must specify 'data_type' for m");
  PbtxtModelConfigs configs({}, nullptr);
  auto bytes = configs.read(model_with(text), false);
  ASSERT_TRUE(bytes.ok());
  auto finished = configs.finish(*bytes);
  EXPECT_EQ(finished.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(finished.status().text(), "model input 'i' must specify 'data_type' for m");
}

TEST(ValidateBatchTensors, EveryRule) {
  const std::string tensors =
      "backend: 'b' input { name: 'i' data_type: TYPE_FP32 dims: 1 } output { name: 'o' data_type: TYPE_FP32 "
      "dims: 1 } ";
  expect_messages(
      tensors,
      {{"batch_input { kind: BATCH_ITEM_SHAPE source_input: 'i' data_type: TYPE_INT32 target_name: 't' }",
        "OK"},
       {"batch_input { kind: BATCH_ITEM_SHAPE data_type: TYPE_INT32 }",
        "batch input kind 'BATCH_ITEM_SHAPE' expects 1 source input, got 0 for m"},
       {"batch_input { source_input: [ 'i', 'i' ] data_type: TYPE_INT32 }",
        "batch input kind 'BATCH_ELEMENT_COUNT' expects 1 source input, got 2 for m"},
       {"batch_input { source_input: 'i' data_type: TYPE_INT64 }",
        "batch input data type must be TYPE_INT32 or TYPE_FP32 for m"},
       {"batch_input { source_input: 'x' data_type: TYPE_FP32 }", "unknown source input name 'x' for m"},
       {"batch_output { source_input: 'i' target_name: 'o' }", "OK"},
       {"batch_output { target_name: 'o' }",
        "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 0 for m"},
       {"batch_output { source_input: 'x' }", "unknown source input name 'x' for m"},
       {"batch_output { source_input: 'i' target_name: 'x' }", "unknown target output name 'x' for m"},
       {"batch_output { source_input: 'i' target_name: [ 'o', 'o' ] }",
        "target output name 'o' can only be specified once for m"},
       {"batch_output { source_input: 'i' target_name: 'o' } batch_output { source_input: 'i' target_name: "
        "'o' }",
        "target output name 'o' can only be specified once for m"},
       {"batch_output { source_input: [ 'i', 'i' ] target_name: 'o' }",
        "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, got 2 for m"},
       {"batch_input { source_input: 'i' data_type: TYPE_FP32 target_name: [ 't', 'i' ] }",
        "batch input target name 'i' is also the name of an input for m"},
       {"batch_input { source_input: 'i' data_type: TYPE_FP32 target_name: [ 't', 't' ] }",
        "batch input target name 't' can only be specified once for m"},
       {"batch_input { source_input: 'i' data_type: TYPE_FP32 target_name: 't' } "
        "batch_input { source_input: 'i' data_type: TYPE_INT32 target_name: 't' }",
        "batch input target name 't' can only be specified once for m"}},
      true);
}

TEST(ValidateBatchTensors, EveryKindIsKnown) {
  const std::string input =
      "backend: 'b' input { name: 'i' data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true } ";
  for (int kind = 0; kind < inference::BatchInput::Kind_ARRAYSIZE; ++kind) {
    std::string name = inference::BatchInput::Kind_Name(static_cast<inference::BatchInput::Kind>(kind));
    for (const char* type : {"TYPE_INT32", "TYPE_FP32"}) {
      EXPECT_EQ(read_message(cat(input, "batch_input { kind: ", name, " source_input: 'i' data_type: ", type,
                                 " target_name: [ 't', 'u' ] }"),
                             true),
                "OK");
    }
    EXPECT_EQ(read_message(cat(input, "batch_input { kind: ", name, " data_type: TYPE_INT32 }"), true),
              cat("batch input kind '", name, "' expects 1 source input, got 0 for m"));
  }
}

TEST(ValidateBatchTensors, UnknownKinds) {
  const std::string tensors =
      "backend: 'b' input { name: 'i' data_type: TYPE_FP32 dims: 1 } output { name: 'o' data_type: TYPE_FP32 "
      "dims: 1 } ";
  expect_messages(tensors,
                  {{"batch_input { kind: 99 source_input: 'i' data_type: TYPE_INT32 }",
                    "unknown batch input kind '99' for m"},
                   {"batch_output { kind: 99 source_input: 'i' target_name: 'o' }",
                    "unknown batch output kind '99' for m"},
                   {"batch_input { source_input: 'i' data_type: 99 }",
                    "'batch_input[0].data_type' is 99, expected a value of DataType"}},
                  true);
}

TEST(ValidateBatchTensors, NoMoreTargetsThanARequestMayHaveInputs) {
  auto targets = [](int count) {
    std::string text =
        "backend: 'b' input { name: 'i' data_type: TYPE_FP32 dims: 1 } "
        "batch_input { source_input: 'i' data_type: TYPE_INT32 ";
    for (int i = 0; i < count; ++i) text += cat("target_name: 't", i, "' ");
    return text + "}";
  };
  EXPECT_EQ(read_message(targets(1024), true), "OK");
  EXPECT_EQ(read_message(targets(1025), true), "model m has more than 1024 batch input targets");
}

TEST(ValidateTensors, RaggedAndOptionalInputsNeedNothingElse) {
  for (const char* prefix : {"backend: 'b' ", "backend: 'b' max_batch_size: 4 "}) {
    expect_messages(prefix,
                    {{input("dims: -1 allow_ragged_batch: true"), "OK"},
                     {input("dims: [ 2, 3 ] allow_ragged_batch: true optional: true"), "OK"},
                     {input("dims: 1 optional: true"), "OK"},
                     {input("allow_ragged_batch: true"), "model input 'i' must specify 'dims' for m"}},
                    true);
  }
}

}  // namespace
}  // namespace atl::pbtxt
