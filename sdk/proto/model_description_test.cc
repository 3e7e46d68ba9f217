#include "atoll/proto/model_description.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "model_config.pb.h"

namespace atl::proto {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(DescribeModel, TakesWhatBackendsAskFor) {
  inference::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    name: "m" max_batch_size: 8 default_model_filename: "weights.bin"
    model_transaction_policy { decoupled: true }
    input { name: "A" data_type: TYPE_FP32 dims: [ 2, -1 ] reshape { shape: [ -1 ] } allow_ragged_batch: true }
    input { name: "B" data_type: TYPE_STRING dims: 1 optional: true is_shape_tensor: true }
    output { name: "P" data_type: TYPE_BF16 dims: 3 label_filename: "labels.txt" }
    batch_input { kind: BATCH_ITEM_SHAPE target_name: "N" data_type: TYPE_INT32 source_input: "A" }
    batch_output { target_name: "P" target_name: "Q" source_input: "A" })",
                                                            &config));
  (*config.mutable_parameters())["temperature"].set_string_value("0.5");
  const ModelDescription model = describe_model(config);
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.max_batch_size, 8u);
  EXPECT_TRUE(model.decoupled);
  EXPECT_EQ(model.default_model_filename, "weights.bin");
  EXPECT_THAT(model.parameters, ElementsAre(Pair("temperature", "0.5")));
  ASSERT_EQ(model.inputs.size(), 2u);
  EXPECT_THAT(model.inputs[0].dims, ElementsAre(2, -1));
  EXPECT_THAT(model.inputs[0].backend_dims(), ElementsAre(-1));
  EXPECT_TRUE(model.inputs[0].allow_ragged);
  EXPECT_EQ(model.find_input("B"), &model.inputs[1]);
  EXPECT_EQ(model.inputs[1].datatype, DataType::kBytes);
  EXPECT_TRUE(model.inputs[1].optional && model.inputs[1].shape_tensor);
  ASSERT_NE(model.find_output("P"), nullptr);
  EXPECT_EQ(model.find_output("P")->datatype, DataType::kBf16);
  EXPECT_THAT(model.find_output("P")->backend_dims(), ElementsAre(3));
  EXPECT_EQ(model.find_output("A"), nullptr);
  ASSERT_EQ(model.batch_inputs.size(), 1u);
  EXPECT_EQ(model.batch_inputs[0].kind, BatchInputSpec::Kind::kItemShape);
  EXPECT_THAT(model.batch_inputs[0].targets, ElementsAre("N"));
  ASSERT_EQ(model.batch_outputs.size(), 1u);
  EXPECT_THAT(model.batch_outputs[0].targets, ElementsAre("P", "Q"));
  EXPECT_THAT(model.batch_outputs[0].sources, ElementsAre("A"));
}

TEST(DescribeModel, TakesAConfigurationThatSaysNothing) {
  inference::ModelConfig config;
  config.set_max_batch_size(-1);
  const ModelDescription model = describe_model(config);
  EXPECT_EQ(model.max_batch_size, 0u);
  EXPECT_FALSE(model.decoupled);
  EXPECT_TRUE(model.inputs.empty() && model.outputs.empty() && model.parameters.empty());
}

}  // namespace
}  // namespace atl::proto
