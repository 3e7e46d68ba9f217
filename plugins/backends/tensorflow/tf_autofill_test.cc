#include "backends/tensorflow/tf_autofill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/tensorflow/testing/tf_fixture.h"

namespace atl::tensorflow::test {
namespace {

using testing::HasSubstr;

TfTensorInfo info(const std::string& name, const Dims& dims, TfType type = kFloat) {
  TfTensorInfo tensor;
  tensor.name = tensor.operation = name;
  tensor.type = type;
  tensor.unknown_rank = dims == kUnknownRank;
  if (!tensor.unknown_rank) tensor.dims = dims;
  return tensor;
}
TfSignature model(const Dims& input, const Dims& output) {
  return {"s", {info("x", input)}, {info("y", output)}};
}

/// The completed configuration, or the failure, in short.
std::string completed_text(const std::string& config, const TfSignature& signature,
                           int64_t default_size = 4) {
  inference::ModelConfig message = config_of(config);
  Status status = complete_from_signature(message, signature, default_size);
  if (!status.ok()) return std::string(status.message());
  std::string text = cat(message.max_batch_size(), message.has_dynamic_batching() ? " dynamic" : "");
  const auto add = [&](const auto& tensor) {
    text += cat(" ", tensor.name(), ":", inference::DataType_Name(tensor.data_type()), "[");
    for (const int64_t dim : tensor.dims()) text += cat(dim, ",");
    text += cat("]", tensor.has_reshape() ? "reshaped" : "");
  };
  for (const auto& input : message.input()) add(input);
  for (const auto& output : message.output()) add(output);
  return text;
}

TEST(TensorFlowAutofill, AModelBatchesIfEveryKnownShapeDoes) {
  EXPECT_EQ(completed_text("", model({-1, 3}, {-1})), "4 dynamic x:TYPE_FP32[3,] y:TYPE_FP32[1,]reshaped");
  EXPECT_EQ(completed_text("", model({-1, 3}, {2})), "0 x:TYPE_FP32[-1,3,] y:TYPE_FP32[2,]");
  EXPECT_EQ(completed_text("", model({-1, 3}, {})), "0 x:TYPE_FP32[-1,3,] y:TYPE_FP32[1,]");
  EXPECT_EQ(completed_text("output { name: 'y' data_type: TYPE_FP32 dims: 7 }", model({-1, 3}, kUnknownRank)),
            "4 dynamic x:TYPE_FP32[3,] y:TYPE_FP32[7,]");
  EXPECT_EQ(completed_text("", model({-1}, {-1}), 0), "0 x:TYPE_FP32[-1,] y:TYPE_FP32[-1,]");
  EXPECT_EQ(completed_text("", model({-1}, {-1}), 1), "1 x:TYPE_FP32[1,]reshaped y:TYPE_FP32[1,]reshaped");
  EXPECT_EQ(completed_text("max_batch_size: 16", model({-1, 3}, {-1, 2})),
            "16 dynamic x:TYPE_FP32[3,] y:TYPE_FP32[2,]");
}

TEST(TensorFlowAutofill, WrittenShapesTellWhetherTheModelBatches) {
  const TfSignature both = model({-1, 3}, {-1, 2});
  EXPECT_EQ(completed_text("input { name: 'x' dims: [ -1, 3 ] }", both),
            "0 x:TYPE_FP32[-1,3,] y:TYPE_FP32[-1,2,]");
  EXPECT_EQ(completed_text("input { name: 'x' dims: 3 }", both), "4 dynamic x:TYPE_FP32[3,] y:TYPE_FP32[2,]");
  EXPECT_THAT(completed_text("input { name: 'x' dims: 3 } output { name: 'y' dims: [ -1, 2 ] }", both),
              HasSubstr("some tensors are written with the batch dimension and some without"));
  EXPECT_EQ(
      completed_text("max_batch_size: 2", model({1, 3}, {-1})),
      "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified");
}

TEST(TensorFlowAutofill, OutputsThatAreWrittenAreAllThatAreWanted) {
  const TfSignature three = {
      "s", {info("a", {-1, 1}), info("b", {-1, 1})}, {info("y", {-1, 2}), info("z", {-1, 2})}};
  EXPECT_EQ(completed_text("input { name: 'b' dims: 1 } output { name: 'z' }", three),
            "4 dynamic b:TYPE_FP32[1,] a:TYPE_FP32[1,] z:TYPE_FP32[2,]");
  EXPECT_EQ(completed_text("sequence_batching { control_input { name: 'a' } }", three),
            "4 b:TYPE_FP32[1,] y:TYPE_FP32[2,] z:TYPE_FP32[2,]");
}

TEST(TensorFlowAutofill, AShapeThatNobodySaysIsAskedFor) {
  EXPECT_THAT(completed_text("", model(kUnknownRank, {-1, 1})),
              HasSubstr("tensor 'x': the model says nothing of its shape"));
}

std::string check(const std::string& config, const TfSignature& signature,
                  const std::vector<std::string>& optional = {}) {
  return check_against_signature(config_of(config), signature, optional).text();
}

TEST(TensorFlowAutofill, AConfigurationThatContradictsTheModelIsRefused) {
  const TfSignature plain = model({-1, 3}, {-1, 2});
  const std::string output = " output { name: 'y' data_type: TYPE_FP32 dims: 2 }";
  EXPECT_EQ(check("max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: 3 }" + output, plain),
            "OK");
  EXPECT_EQ(check("max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: -1 }" + output, plain),
            "OK");
  EXPECT_THAT(check("max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: 4 }" + output, plain),
              HasSubstr("the model expects 2 dimensions (shape [-1,3])"));
  EXPECT_THAT(check("max_batch_size: 4 input { name: 'x' data_type: TYPE_INT32 dims: 3 }" + output, plain),
              HasSubstr("unexpected datatype INT32 for input 'x', expecting FP32"));
  EXPECT_THAT(check("max_batch_size: 4 input { name: 'w' data_type: TYPE_FP32 dims: 3 }" + output, plain),
              HasSubstr("unexpected inference input 'w', allowed inputs are: x"));
  EXPECT_THAT(check(output, plain), HasSubstr("input 'x' is missing"));
  EXPECT_THAT(check(output, model({-1, 3}, {2}), {"x"}), "OK");
  EXPECT_THAT(check("max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: 3 }" + output,
                    model({-1, 3}, {5, 2})),
              HasSubstr("the first dimension must be -1"));
}

}  // namespace
}  // namespace atl::tensorflow::test
