#include "backends/repeat/repeat_config.h"

#include <gtest/gtest.h>

#include "backends/repeat/testing/repeat_test_models.h"

namespace atl::repeat {
namespace {

std::string error_of(const ModelDescription& model) {
  Result<RepeatConfig> read_config = read_repeat_config(model);
  EXPECT_FALSE(read_config.ok());
  EXPECT_EQ(read_config.status().code(), Code::kInvalidArgument);
  return std::string(read_config.status().message());
}

TEST(RepeatConfig, Defaults) {
  auto config = read_repeat_config(model_of("m"));
  ASSERT_TRUE(config.ok()) << config.status().text();
  EXPECT_EQ(config->model, "m");
  EXPECT_FALSE(config->final_with_last);
  EXPECT_EQ(config->fail_at, -1);
}

TEST(RepeatConfig, Parameters) {
  auto message = model_of();
  message.parameters["final_with_last"] = "true";
  message.parameters["fail_at"] = "3";
  auto config = read_repeat_config(message);
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->final_with_last);
  EXPECT_EQ(config->fail_at, 3);
  for (const char* right : {"-1", "0", "2147483647"}) {
    message.parameters["fail_at"] = right;
    EXPECT_TRUE(read_repeat_config(message).ok()) << right;
  }
  for (const char* wrong : {"-2", "2147483648", "x", ""}) {
    message.parameters["fail_at"] = wrong;
    EXPECT_EQ(error_of(message), cat("model 'repeat_int32': parameter 'fail_at' is '", wrong,
                                     "', expected a whole number from -1 to 2147483647"));
  }
  message.parameters["fail_at"] = "0";
  message.parameters["final_with_last"] = "yes";
  EXPECT_EQ(
      error_of(message),
      "model 'repeat_int32': parameter 'final_with_last' is 'yes', expected 'true', 'false', '1' or '0'");
}

TEST(RepeatConfig, MustBeDecoupledAndMustNotBatch) {
  auto config = model_of("m");
  config.decoupled = false;
  EXPECT_EQ(
      error_of(config),
      "model 'm' is not decoupled; the repeat backend expects model_transaction_policy { decoupled: true }");
  config = model_of("m");
  config.max_batch_size = 1;
  EXPECT_EQ(error_of(config), "model 'm' has max_batch_size 1; the repeat backend expects 0");
}

TEST(RepeatConfig, TensorsAreThoseThatAreExpected) {
  auto config = model_of("m");
  config.inputs[0].name = "in";
  EXPECT_EQ(error_of(config), "model 'm' has no input 'IN'");
  config = model_of("m");
  config.outputs.pop_back();
  EXPECT_EQ(error_of(config), "model 'm' has no output 'IDX'");
  config = model_of("m");
  config.inputs.push_back(tensor("MORE", DataType::kInt32, 1));
  EXPECT_EQ(error_of(config), "model 'm' has 4 inputs, expected 3");
  config = model_of("m");
  config.inputs[1].datatype = DataType::kInt32;
  EXPECT_EQ(error_of(config), "model 'm': input 'DELAY' has type INT32, expected UINT32");
  config = model_of("m");
  config.inputs[2].dims[0] = 2;
  EXPECT_EQ(error_of(config), "model 'm': input 'WAIT' has dims [2], expected [1]");
  config = model_of("m");
  config.inputs[0].dims.push_back(2);
  EXPECT_EQ(error_of(config), "model 'm': input 'IN' has dims [-1,2], expected one dimension");
  config = model_of("m");
  config.outputs[0].has_reshape = true;
  config.outputs[0].reshape = {1};
  EXPECT_EQ(error_of(config), "model 'm': output 'OUT' has dims [1] and a reshape, expected [1]");
}

TEST(RepeatConfig, TheOrderOfTensorsDoesNotMatter) {
  auto config = model_of();
  std::swap(config.inputs[0], config.inputs[2]);
  std::swap(config.outputs[0], config.outputs[1]);
  EXPECT_TRUE(read_repeat_config(config).ok());
}

}  // namespace
}  // namespace atl::repeat
