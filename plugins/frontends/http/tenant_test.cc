// Tenants from a header, and refusals that say when to try again.
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class TenantTest : public HttpFrontendTest {
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
  Reply infer(const std::string& headers) {
    return post("/v2/models/m/infer",
                R"({"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1]}]})", headers);
  }

  test::FakeServedModel& model_;
  std::string tenant_;
  std::atomic<uint32_t> retry_after_ms_{0};
  std::atomic<Code> refusal_{Code::kOk};
};

TEST_F(TenantTest, NoHeaderNamesItByDefault) {
  start();
  EXPECT_EQ(infer("X-Tenant: a\r\n").status, 200);
  EXPECT_EQ(tenant_, "");
}

TEST_F(TenantTest, TheHeaderNamesTheTenantOfInferences) {
  start_with_header("X-Tenant");
  EXPECT_EQ(infer("x-TENANT: team-a \r\n").status, 200);
  EXPECT_EQ(tenant_, "team-a");
  EXPECT_EQ(infer("").status, 200);
  EXPECT_EQ(tenant_, "");
  EXPECT_EQ(post("/v2/models/m/generate", R"({"INPUT0":1})", "X-Tenant: team-b\r\n").status, 200);
  EXPECT_EQ(tenant_, "team-b");
}

TEST_F(TenantTest, AHeaderGivenTwiceIsRefused) {
  start_with_header("x-tenant");
  const std::string twice = "X-Tenant: a\r\nx-tenant: a\r\n";
  expect_error(infer(twice), 400, "Header 'x-tenant' is given more than once, expected one tenant.");
  EXPECT_EQ(post("/v2/models/m/generate", R"({"INPUT0":1})", twice).status, 400);
}

TEST_F(TenantTest, RefusalsSayWhenToTryAgain) {
  start();
  refusal_ = Code::kResourceExhausted;
  retry_after_ms_ = 1001;
  Reply reply = infer("");
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.header("retry-after"), "2");
  refusal_ = Code::kUnavailable;
  retry_after_ms_ = 1;
  reply = infer("");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("retry-after"), "1");
  for (const char* path : {"/v2/models/m/generate", "/v2/models/m/generate_stream"}) {
    reply = post(path, R"({"INPUT0":1})");
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.header("retry-after"), "1");
  }
  retry_after_ms_ = 0;
  EXPECT_EQ(infer("").header("retry-after"), "");
}

TEST_F(TenantTest, SoDoRefusalsAfterAWait) {
  model_.refuse = nullptr;
  model_.respond = [](Request& request) {
    request.retry_after_ms = 2500;
    fail_request(request, unavailable("shed"));
  };
  start();
  EXPECT_EQ(infer("").header("retry-after"), "3");
  for (const char* path : {"/v2/models/m/generate", "/v2/models/m/generate_stream"}) {
    const Reply reply = post(path, R"({"INPUT0":1})");
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.header("retry-after"), "3");
  }
}

TEST_F(TenantTest, AHeaderThatIsNoNameIsRefusedAtTheStart) {
  host_.options().set_string("tenant_header", "x tenant");
  HttpFrontend frontend(host_);
  EXPECT_EQ(frontend.init().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace atl::frontends::http
