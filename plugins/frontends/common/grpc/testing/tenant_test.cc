// Tenants from metadata, and refusals that say when to try again.
#include <map>

#include "frontends/common/grpc/testing/stream_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class TenantTest : public StreamTest {
 protected:
  TenantTest() : model_(catalog_.add_identity("m")) {
    model_.refuse = [this](Request& request) {
      tenant_ = request.tenant;
      request.retry_after_ms = retry_after_ms_;
      return Status(refusal_, "over its quota");
    };
  }
  void start_with_header(const std::string& name) {
    host_.options().set_string("tenant_header", name);
    start();
  }
  grpc::Status infer_as(const std::vector<std::string>& tenants) {
    grpc::ClientContext context;
    for (const std::string& tenant : tenants) context.AddMetadata("x-tenant", tenant);
    inference::ModelInferResponse response;
    grpc::Status status = infer(request("m"), &response, &context);
    trailers_.clear();
    for (const auto& [key, value] : context.GetServerTrailingMetadata()) {
      trailers_[std::string(key.data(), key.size())] = std::string(value.data(), value.size());
    }
    return status;
  }

  test::FakeServedModel& model_;
  std::string tenant_;
  std::atomic<uint32_t> retry_after_ms_{0};
  std::atomic<Code> refusal_{Code::kOk};
  std::map<std::string, std::string> trailers_;
};

TEST_F(TenantTest, NoMetadataNamesItByDefault) {
  start();
  EXPECT_TRUE(infer_as({"a"}).ok());
  EXPECT_EQ(tenant_, "");
}

TEST_F(TenantTest, MetadataNamesTheTenantOfInferences) {
  start_with_header("X-Tenant");
  EXPECT_TRUE(infer_as({"team-a"}).ok());
  EXPECT_EQ(tenant_, "team-a");
  EXPECT_TRUE(infer_as({}).ok());
  EXPECT_EQ(tenant_, "");
  grpc::ClientContext context;
  context.AddMetadata("x-tenant", "team-b");
  auto stream = open(&context);
  stream->Write(request("m"));
  EXPECT_EQ(read(*stream).error_message(), "");
  EXPECT_EQ(tenant_, "team-b");
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(TenantTest, SeveralTenantsAreRefused) {
  start_with_header("x-tenant");
  grpc::Status status = infer_as({"a", "a"});
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "Header 'x-tenant' is given more than once, expected one tenant.");
}

TEST_F(TenantTest, RefusalsSayWhenToTryAgain) {
  start();
  refusal_ = Code::kResourceExhausted;
  retry_after_ms_ = 1001;
  EXPECT_EQ(infer_as({}).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(trailers_["retry-after"], "2");
  EXPECT_EQ(trailers_["grpc-retry-pushback-ms"], "1001");
  retry_after_ms_ = 0;
  EXPECT_EQ(infer_as({}).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(trailers_.count("retry-after") + trailers_.count("grpc-retry-pushback-ms"), 0U);
}

TEST_F(TenantTest, SoDoRefusalsAfterAWait) {
  model_.refuse = nullptr;
  model_.respond = [](Request& request) {
    request.retry_after_ms = 7;
    fail_request(request, unavailable("shed"));
  };
  start();
  EXPECT_EQ(infer_as({}).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(trailers_["retry-after"], "1");
  EXPECT_EQ(trailers_["grpc-retry-pushback-ms"], "7");
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
