#include "backends/triton/config_merge.h"

#include <gtest/gtest.h>

namespace atl::triton {
namespace {

using inference::ModelConfig;

TEST(ConfigMerge, TakesWhatABackendMayFillIn) {
  ModelConfig given, config;
  config.set_name("m");
  config.set_max_batch_size(1);
  config.add_input()->set_name("OLD");
  given.set_name("other");
  given.set_max_batch_size(4);
  given.add_input()->set_name("IN");
  given.add_output()->set_name("OUT");
  given.mutable_dynamic_batching();
  given.mutable_model_transaction_policy()->set_decoupled(true);
  EXPECT_TRUE(merge_config(given, &config).ok());
  EXPECT_EQ(config.name(), "m");
  EXPECT_EQ(config.max_batch_size(), 4);
  ASSERT_EQ(config.input_size(), 1);
  EXPECT_EQ(config.input(0).name(), "IN");
  EXPECT_EQ(config.output(0).name(), "OUT");
  EXPECT_TRUE(config.has_dynamic_batching());
  EXPECT_TRUE(config.model_transaction_policy().decoupled());
}

TEST(ConfigMerge, KeepsTheSchedulingThatIsThere) {
  ModelConfig given, config;
  config.mutable_sequence_batching()->set_max_sequence_idle_microseconds(5);
  given.set_max_batch_size(2);
  EXPECT_TRUE(merge_config(given, &config).ok());
  given.mutable_sequence_batching()->set_max_sequence_idle_microseconds(7);
  EXPECT_TRUE(merge_config(given, &config).ok());
  EXPECT_EQ(config.sequence_batching().max_sequence_idle_microseconds(), 5u);
  given.mutable_dynamic_batching();
  given.set_max_batch_size(9);
  Status status = merge_config(given, &config);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(config.max_batch_size(), 2);
}

}  // namespace
}  // namespace atl::triton
