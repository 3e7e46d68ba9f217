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

AuditedCall http_call(std::string_view method, std::string_view path,
                      std::string_view category = "pools.leases") {
  AuditedCall call;
  call.category_name = category;
  call.method = method;
  call.path = path;
  return call;
}

TEST(AuditedCalls, WhatChangesTheServer) {
  AuditedCall load = http_call("POST", "/v2/repository/models/m/load", "model-repository");
  load.category = ApiCategory::kModelRepository;
  EXPECT_TRUE(is_change(load));
  load.method = "";
  load.path = "/inference.GRPCInferenceService/RepositoryModelLoad";
  EXPECT_TRUE(is_change(load));
  load.path = "/inference.GRPCInferenceService/RepositoryIndex";
  EXPECT_FALSE(is_change(load));
  load.method = "POST";
  load.path = "/v2/repository/index";
  EXPECT_FALSE(is_change(load));
  EXPECT_TRUE(is_change(http_call("DELETE", "/v2/leases/7")));
  EXPECT_FALSE(is_change(http_call("GET", "/v2/leases")));
  EXPECT_FALSE(is_change(http_call("POST", "/v1/chat/completions", "openai.chat")));
  EXPECT_FALSE(is_change(http_call("POST", "/v2/console/manifest/check", "console.act")));
  EXPECT_FALSE(is_change(http_call("POST", "/v2/console/login", "console.login")));
}

TEST(AuditedCalls, WhatOthersAreToldHasNoToken) {
  AuditedCall call = http_call("POST", "/v2/repository/models/atk_ops_secret/load");
  call.subject = "ops";
  call.status = 404;
  const ControlCallEnded event = control_call(call);
  EXPECT_EQ(event.call.view(), "POST /v2/repository/models/[redacted]/load");
  EXPECT_EQ(event.subject.view(), "ops");
  EXPECT_TRUE(event.is_failure);
  call.status = 200;
  EXPECT_FALSE(control_call(call).is_failure);
  call.protocol = CallProtocol::kGrpc;
  EXPECT_TRUE(control_call(call).is_failure);
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
