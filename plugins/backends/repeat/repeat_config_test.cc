#include "repeat_config.h"

#include <gtest/gtest.h>

#include "repeat_test_models.h"

namespace atl::repeat {
namespace {

Result<RepeatConfig> read(const inference::ModelConfig& config) {
  auto view = backends::ConfigView::parse(config.SerializeAsString());
  EXPECT_TRUE(view.ok());
  return read_repeat_config(view.value());
}

std::string error_of(const inference::ModelConfig& config) {
  Result<RepeatConfig> read_config = read(config);
  EXPECT_FALSE(read_config.ok());
  EXPECT_EQ(read_config.status().code(), Code::kInvalidArgument);
  return std::string(read_config.status().message());
}

TEST(RepeatConfig, Defaults) {
  auto config = read(model_config("m"));
  ASSERT_TRUE(config.ok()) << config.status().text();
  EXPECT_EQ(config->model, "m");
  EXPECT_FALSE(config->final_with_last);
  EXPECT_EQ(config->fail_at, -1);
}

TEST(RepeatConfig, Parameters) {
  auto message = model_config();
  set_parameter(message, "final_with_last", "true");
  set_parameter(message, "fail_at", "3");
  auto config = read(message);
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->final_with_last);
  EXPECT_EQ(config->fail_at, 3);
  for (const char* right : {"-1", "0", "2147483647"}) {
    set_parameter(message, "fail_at", right);
    EXPECT_TRUE(read(message).ok()) << right;
  }
  for (const char* wrong : {"-2", "2147483648", "x", ""}) {
    set_parameter(message, "fail_at", wrong);
    EXPECT_EQ(error_of(message), cat("model 'repeat_int32': parameter 'fail_at' is '", wrong,
                                     "', expected a whole number from -1 to 2147483647"));
  }
  set_parameter(message, "fail_at", "0");
  set_parameter(message, "final_with_last", "yes");
  EXPECT_EQ(
      error_of(message),
      "model 'repeat_int32': parameter 'final_with_last' is 'yes', expected 'true', 'false', '1' or '0'");
}

TEST(RepeatConfig, MustBeDecoupledAndMustNotBatch) {
  auto config = model_config("m");
  config.clear_model_transaction_policy();
  EXPECT_EQ(
      error_of(config),
      "model 'm' is not decoupled; the repeat backend expects model_transaction_policy { decoupled: true }");
  config = model_config("m");
  config.set_max_batch_size(1);
  EXPECT_EQ(error_of(config), "model 'm' has max_batch_size 1; the repeat backend expects 0");
}

TEST(RepeatConfig, TensorsAreThoseThatAreExpected) {
  auto config = model_config("m");
  config.mutable_input(0)->set_name("in");
  EXPECT_EQ(error_of(config), "model 'm' has no input 'IN'");
  config = model_config("m");
  config.mutable_output()->RemoveLast();
  EXPECT_EQ(error_of(config), "model 'm' has no output 'IDX'");
  config = model_config("m");
  set_tensor(*config.add_input(), "MORE", inference::TYPE_INT32, 1);
  EXPECT_EQ(error_of(config), "model 'm' has 4 inputs, expected 3");
  config = model_config("m");
  config.mutable_input(1)->set_data_type(inference::TYPE_INT32);
  EXPECT_EQ(error_of(config), "model 'm': input 'DELAY' has type INT32, expected UINT32");
  config = model_config("m");
  config.mutable_input(2)->set_dims(0, 2);
  EXPECT_EQ(error_of(config), "model 'm': input 'WAIT' has dims [2], expected [1]");
  config = model_config("m");
  config.mutable_input(0)->add_dims(2);
  EXPECT_EQ(error_of(config), "model 'm': input 'IN' has dims [-1,2], expected one dimension");
  config = model_config("m");
  config.mutable_output(0)->mutable_reshape()->add_shape(1);
  EXPECT_EQ(error_of(config), "model 'm': output 'OUT' has dims [1] and a reshape, expected [1]");
}

TEST(RepeatConfig, TheOrderOfTensorsDoesNotMatter) {
  auto config = model_config();
  config.mutable_input()->SwapElements(0, 2);
  config.mutable_output()->SwapElements(0, 1);
  EXPECT_TRUE(read(config).ok());
}

}  // namespace
}  // namespace atl::repeat
