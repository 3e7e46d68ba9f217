#include "cloud.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/launcher_fixture.h"

namespace atl::tritonserver {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Cloud, SageMakerHasAnAddressOfItsOwn) {
  LauncherFixture fixture;
  EXPECT_THAT(fixture.serve({"--allow-sagemaker=true"}).failure,
              HasSubstr("it needs the plugin frontends/sagemaker"));
  fixture.add_plugin("frontends/sagemaker");
  fixture.environment["SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"] = "digits";
  Launch launch = fixture.serve({"--allow-sagemaker=true", "--http-address=::1", "--sagemaker-port=8085",
                                 "--sagemaker-safe-port-range=8080-8090", "--sagemaker-thread-count=2"});
  EXPECT_EQ(launch.failure, "");
  for (const char* setting :
       {R"(plugin.sagemaker.use="frontends/sagemaker")", R"(plugin.sagemaker.default_model="digits")",
        R"(plugin.http_sagemaker.use="frontends/http")", R"(plugin.http_sagemaker.address="[::1]:8085")",
        "plugin.http_sagemaker.threads=2",
        R"(plugin.http_sagemaker.only_routes=["/ping", "/invocations"])"}) {
    EXPECT_THAT(launch.settings, Contains(setting));
  }
  const std::string out_of_range =
      fixture.serve({"--allow-sagemaker=1", "--sagemaker-safe-port-range=1-9"}).failure;
  EXPECT_THAT(out_of_range, HasSubstr("--sagemaker-port: found 8080, expected a port from 1 to 9, as"));
  EXPECT_THAT(fixture.serve({"--allow-sagemaker=1", "--sagemaker-safe-port-range=9"}).failure,
              HasSubstr("--sagemaker-safe-port-range: found '9', expected <integer>-<integer>"));
  EXPECT_THAT(fixture.serve({"--allow-sagemaker=1", "--sagemaker-port=65536"}).failure,
              HasSubstr("--sagemaker-port: found 65536, expected a port from 0 to 65535"));
  EXPECT_THAT(fixture.serve({"--allow-sagemaker=1", "--sagemaker-safe-port-range=9000-8000"}).failure,
              HasSubstr("--sagemaker-safe-port-range: found '9000-8000', expected the lower port first"));
  fixture.environment["SAGEMAKER_MULTI_MODEL"] = "yes";
  EXPECT_THAT(fixture.serve({"--allow-sagemaker=1"}).failure,
              HasSubstr("SAGEMAKER_MULTI_MODEL: found 'yes', expected true or false"));
  fixture.environment["SAGEMAKER_MULTI_MODEL"] = "true";
  EXPECT_THAT(
      fixture.serve({"--allow-sagemaker=1"}).failure,
      HasSubstr(
          "SAGEMAKER_MULTI_MODEL=true is not served: SageMaker loads the models, which needs --model-control-mode=explicit"));
  launch = fixture.serve({"--allow-sagemaker=1", "--model-control-mode=explicit"});
  EXPECT_THAT(
      launch.settings,
      AllOf(Contains("plugin.sagemaker.multi_model=true"), Contains("plugin.models.namespacing=true"),
            Contains("plugin.repository.namespacing=true"),
            Contains(
                R"(plugin.http_sagemaker.only_routes=["/ping", "/invocations", "/models", "/models/*"])")));
  launch =
      fixture.serve({"--allow-sagemaker=1", "--model-control-mode=explicit", "--model-namespacing=false"});
  EXPECT_THAT(launch.settings, Contains("plugin.models.namespacing=false"));
}

TEST(Cloud, WhatIsWrongIsNamedAsItWasGiven) {
  LauncherFixture fixture;
  fixture.add_plugin("frontends/vertex_ai");
  fixture.environment = {{"AIP_MODE", "PREDICTION"}, {"AIP_HEALTH_ROUTE", "health"}};
  EXPECT_THAT(fixture.serve({}).failure,
              HasSubstr("AIP_HEALTH_ROUTE: found 'health', expected a path such as /health"));
  fixture.environment = {{"AIP_MODE", "PREDICTION"}};
  EXPECT_THAT(fixture.run({}).failure,
              HasSubstr("--model-repository, or AIP_STORAGE_URI of the environment, must be specified"));
}

TEST(Cloud, VertexAiIsWhatTheEnvironmentSays) {
  LauncherFixture fixture;
  fixture.add_plugin("frontends/vertex_ai");
  fixture.environment = {
      {"AIP_MODE", "PREDICTION"}, {"AIP_HTTP_PORT", "9090"}, {"AIP_HEALTH_ROUTE", "/v1/up"}};
  Launch launch = fixture.serve({"--vertex-ai-default-model=m"});
  EXPECT_EQ(launch.failure, "");
  for (const char* setting :
       {"plugin.http.enabled=false", "plugin.grpc.enabled=false", R"(plugin.vertex_ai.health_route="/v1/up")",
        R"(plugin.vertex_ai.predict_route="/predict")", R"(plugin.vertex_ai.default_model="m")",
        R"(plugin.http_vertex_ai.address="127.0.0.1:9090")",
        R"(plugin.http_vertex_ai.only_routes=["/v1/up", "/predict"])",
        "plugin.http_vertex_ai.open_after_startup=true"}) {
    EXPECT_THAT(launch.settings, Contains(setting));
  }
  EXPECT_THAT(fixture.serve({"--allow-http=true", "--vertex-ai-port=7"}).settings,
              AllOf(Contains("plugin.http.enabled=true"), Contains("plugin.grpc.enabled=false"),
                    Contains(R"(plugin.http_vertex_ai.address="127.0.0.1:7")")));
  EXPECT_THAT(fixture.serve({"--allow-vertex-ai=false"}).settings,
              AllOf(Contains("plugin.http.enabled=true"), Not(Contains(HasSubstr("vertex_ai")))));
  fixture.environment["AIP_HTTP_PORT"] = "x";
  EXPECT_THAT(fixture.serve({}).failure, HasSubstr("AIP_HTTP_PORT: Invalid option value. Got x"));
}

TEST(Cloud, AStorageOfTheEnvironmentIsTheRepositoryIfNoneIsNamed) {
  LauncherFixture fixture;
  fixture.add_plugin("frontends/vertex_ai");
  fixture.environment = {{"AIP_MODE", "PREDICTION"}, {"AIP_STORAGE_URI", "gs://bucket/models"}};
  EXPECT_THAT(fixture.run({}).failure, HasSubstr("AIP_STORAGE_URI=gs://bucket/models is not served"));
  EXPECT_EQ(fixture.serve({}).failure, "") << "a flag names one";
}

}  // namespace
}  // namespace atl::tritonserver
