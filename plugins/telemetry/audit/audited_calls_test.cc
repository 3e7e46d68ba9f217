#include "telemetry/audit/audited_calls.h"

#include <gtest/gtest.h>

namespace atl::audit {
namespace {

TEST(AuditedCalls, ControlIsWhatChangesTheServerAndWhatNobodyKnows) {
  for (const auto category : {ApiCategory::kModelRepository, ApiCategory::kSharedMemory, ApiCategory::kTrace,
                              ApiCategory::kLogging})
    EXPECT_TRUE(is_control(category, api_category_name(category)));
  for (const auto category : {ApiCategory::kHealth, ApiCategory::kMetadata, ApiCategory::kInference,
                              ApiCategory::kModelConfig, ApiCategory::kStatistics, ApiCategory::kMetrics})
    EXPECT_FALSE(is_control(category, api_category_name(category)));
  for (const char* name : {"console.view", "pools.leases", "mine.calls", "openaix.chat"})
    EXPECT_TRUE(is_control(ApiCategory::kOther, name)) << name;
  for (const char* name : {"openai.chat", "tfserving.predict"})
    EXPECT_FALSE(is_control(ApiCategory::kOther, name)) << name;
}

TEST(AuditedCalls, TheSampleIsEven) {
  const auto taken = [](double share) {
    CallSample sample(share);
    int count = 0;
    for (int i = 0; i < 10000; ++i) count += sample.takes_next();
    return count;
  };
  EXPECT_EQ(taken(0), 0);
  EXPECT_EQ(taken(1), 10000);
  EXPECT_EQ(taken(0.25), 2500);
  EXPECT_NEAR(taken(0.01), 100, 1);
}

}  // namespace
}  // namespace atl::audit
