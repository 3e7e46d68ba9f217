#include "schedulers/common/batch/scheduling_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "model_config.pb.h"

namespace atl::schedulers {
namespace {

using ::testing::IsEmpty;

inference::ModelConfig parse(const std::string& text) {
  inference::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

TEST(SchedulingConfig, NothingSaidIsOneLevelWithoutLimits) {
  QueuePolicies policies = queue_policies_from({});
  EXPECT_EQ(policies.priority_levels, 0u);
  EXPECT_THAT(policies.by_level, IsEmpty());
  EXPECT_EQ(policies.size_max, 0u);
  EXPECT_EQ(policies.default_policy.timeout_action, TimeoutAction::kReject);
  EXPECT_FALSE(policies.default_policy.allow_timeout_override);
  EXPECT_EQ(policies.default_policy.default_timeout_us, 0u);
  EXPECT_EQ(policies.default_policy.max_queue_size, 0u);
}

TEST(SchedulingConfig, QueuePolicies) {
  QueuePolicies policies = queue_policies_from(parse(R"(
    dynamic_batching {
      priority_levels: 18446744073709551615
      default_priority_level: 7
      default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 18446744073709551615 }
      priority_queue_policy { key: 3 value { allow_timeout_override: true max_queue_size: 4294967295 } }
      priority_queue_policy { key: 9 value { timeout_action: REJECT default_timeout_microseconds: 5 } }
    })")
                                                   .dynamic_batching());
  EXPECT_EQ(policies.priority_levels, UINT64_MAX);
  EXPECT_EQ(policies.default_priority_level, 7u);
  EXPECT_EQ(policies.default_policy.timeout_action, TimeoutAction::kDelay);
  EXPECT_EQ(policies.default_policy.default_timeout_us, UINT64_MAX);
  ASSERT_EQ(policies.by_level.size(), 2u);
  EXPECT_TRUE(policies.policy_of(3).allow_timeout_override);
  EXPECT_EQ(policies.policy_of(3).max_queue_size, UINT32_MAX);
  EXPECT_EQ(policies.policy_of(3).timeout_action, TimeoutAction::kReject);
  EXPECT_EQ(policies.policy_of(9).default_timeout_us, 5u);
  EXPECT_EQ(policies.policy_of(4).timeout_action, TimeoutAction::kDelay) << "without a policy of its own";
}

TEST(SchedulingConfig, PoliciesOfLevelsNeedLevels) {
  QueuePolicies policies = queue_policies_from(
      parse("dynamic_batching { priority_queue_policy { key: 0 value { max_queue_size: 3 } } }")
          .dynamic_batching());
  EXPECT_EQ(policies.policy_of(0).max_queue_size, 0u);
}

TEST(SchedulingConfig, WhatIsCompared) {
  struct Row {
    const char* input;
    bool compared, shape_tensor;
    int64_t first_dim;
  };
  constexpr Row kRows[] = {
      {"dims: [ 2, 3 ]", false, false, 0},
      {"dims: [ 2, -1 ]", true, false, 2},
      {"dims: [ -1 ] allow_ragged_batch: true", false, false, 0},
      {"dims: [ 2 ] allow_ragged_batch: true", false, false, 0},
      {"dims: [ 2 ] is_shape_tensor: true", true, true, 2},
      {"dims: [ -1 ] is_shape_tensor: true", true, true, -1},
      {"dims: [ -1 ] is_shape_tensor: true allow_ragged_batch: true", true, true, -1},
      {"is_shape_tensor: true", true, true, -1},
      {"dims: [ 2, -1 ] reshape { shape: [ -1 ] }", true, false, 2},
  };
  for (const Row& row : kRows) {
    BatchCompatibility rules =
        batch_compatibility_from(parse(cat("max_batch_size: 4 input { name: 'X' ", row.input, " }")));
    EXPECT_TRUE(rules.has_batch_dimension);
    EXPECT_FALSE(rules.has_optional_inputs);
    ASSERT_EQ(rules.compared.size(), row.compared ? 1u : 0u) << row.input;
    if (!row.compared) continue;
    EXPECT_EQ(rules.compared[0].name, "X");
    EXPECT_EQ(rules.compared[0].shape_tensor, row.shape_tensor) << row.input;
    EXPECT_EQ(rules.compared[0].first_dim, row.first_dim) << row.input;
  }
}

TEST(SchedulingConfig, OptionalInputsAndTheBatchDimension) {
  BatchCompatibility rules = batch_compatibility_from(
      parse("input { name: 'A' dims: [ 1 ] } input { name: 'B' dims: [ 1 ] optional: true }"));
  EXPECT_TRUE(rules.has_optional_inputs);
  EXPECT_FALSE(rules.has_batch_dimension);
  EXPECT_THAT(rules.compared, IsEmpty());
}

}  // namespace
}  // namespace atl::schedulers
