// Every method but ModelInfer, from the client's side.
#include "frontends/common/grpc/testing/frontend_fixture.h"
#include "health.grpc.pb.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class MethodsTest : public GrpcFrontendTest {
 protected:
  /// Calls a method of the stub with a context of its own.
  template <class Request, class Response>
  grpc::Status call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& message, Response* response) {
    grpc::ClientContext context;
    return (stub_.get()->*method)(&context, message, response);
  }
  grpc::Status check(grpc::health::v1::HealthCheckResponse* response) {
    grpc::ClientContext context;
    return grpc::health::v1::Health::NewStub(channel())->Check(&context, {}, response);
  }
};

TEST_F(MethodsTest, HealthFollowsTheCatalog) {
  using grpc::health::v1::HealthCheckResponse;
  start();
  inference::ServerLiveResponse live;
  inference::ServerReadyResponse ready;
  HealthCheckResponse health;
  ASSERT_TRUE(call(&Stub::ServerLive, {}, &live).ok());
  ASSERT_TRUE(call(&Stub::ServerReady, {}, &ready).ok());
  ASSERT_TRUE(check(&health).ok());
  EXPECT_TRUE(live.live());
  EXPECT_TRUE(ready.ready());
  EXPECT_EQ(health.status(), HealthCheckResponse::SERVING);
  catalog_.is_ready = false;
  ASSERT_TRUE(call(&Stub::ServerLive, {}, &live).ok());
  ASSERT_TRUE(call(&Stub::ServerReady, {}, &ready).ok());
  ASSERT_TRUE(check(&health).ok());
  EXPECT_TRUE(live.live());
  EXPECT_FALSE(ready.ready());
  EXPECT_EQ(health.status(), HealthCheckResponse::NOT_SERVING);
  catalog_.set_exiting(true);
  expect_status(call(&Stub::ServerLive, {}, &live), StatusCode::UNAVAILABLE, "Server exiting");
  expect_status(call(&Stub::ServerReady, {}, &ready), StatusCode::UNAVAILABLE, "Server exiting");
  expect_status(check(&health), StatusCode::UNAVAILABLE, "Server exiting");
}

TEST_F(MethodsTest, UnknownMethodsAndWatchAreUnimplementedWithoutAText) {
  start();
  for (const char* method :
       {"/inference.GRPCInferenceService/NoSuchMethod", "/no.such.Service/Method", "/",
        "/grpc.health.v1.Health/Watch", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
    expect_status(call_raw(method, ""), StatusCode::UNIMPLEMENTED, "");
  }
}

TEST_F(MethodsTest, ModelReady) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  start();
  inference::ModelReadyRequest message;
  inference::ModelReadyResponse response;
  message.set_name("m");
  ASSERT_TRUE(call(&Stub::ModelReady, message, &response).ok());
  EXPECT_TRUE(response.ready());
  message.set_version("x");
  EXPECT_EQ(call(&Stub::ModelReady, message, &response).error_code(), StatusCode::INVALID_ARGUMENT);
  message.set_version("3");
  ASSERT_TRUE(call(&Stub::ModelReady, message, &response).ok());
  EXPECT_FALSE(response.ready()) << "an unknown version";
  message.set_version("");
  model.is_ready = false;
  response.set_ready(true);
  ASSERT_TRUE(call(&Stub::ModelReady, message, &response).ok());
  EXPECT_FALSE(response.ready()) << "a version that cannot serve now";
  message.set_name("x");
  response.set_ready(true);
  ASSERT_TRUE(call(&Stub::ModelReady, message, &response).ok());
  EXPECT_FALSE(response.ready()) << "an unknown model";
  catalog_.unload({"m"}, [](const auto&) {});
  message.set_name("m");
  message.set_version("1");
  response.set_ready(true);
  ASSERT_TRUE(call(&Stub::ModelReady, message, &response).ok());
  EXPECT_FALSE(response.ready()) << "a model that is not loaded";
  catalog_.set_exiting(true);
  expect_status(call(&Stub::ModelReady, message, &response), StatusCode::UNAVAILABLE, "Server exiting");
  catalog_.set_exiting(false);
  EXPECT_EQ(model.references(), 0);
}

TEST_F(MethodsTest, ServerMetadata) {
  start();
  inference::ServerMetadataResponse response;
  ASSERT_TRUE(call(&Stub::ServerMetadata, {}, &response).ok());
  EXPECT_EQ(response.name(), "triton");
  EXPECT_EQ(response.version(), "0.0.0-test");
  const std::vector<std::string> extensions(response.extensions().begin(), response.extensions().end());
  EXPECT_EQ(extensions,
            (std::vector<std::string>{"classification", "sequence", "model_repository",
                                      "model_repository(unload_dependents)", "schedule_policy",
                                      "model_configuration", "system_shared_memory", "cuda_shared_memory",
                                      "binary_tensor_data", "parameters", "statistics", "trace", "logging"}));
}

TEST_F(MethodsTest, ModelMetadataListsVersionsAndTheBatchDimension) {
  catalog_.add_identity("m", DataType::kFp32, 8, 1);
  catalog_.add_identity("m", DataType::kFp32, 8, 3);
  catalog_.add_identity("unbatched", DataType::kBytes);
  start();
  inference::ModelMetadataRequest message;
  inference::ModelMetadataResponse response;
  message.set_name("m");
  ASSERT_TRUE(call(&Stub::ModelMetadata, message, &response).ok());
  EXPECT_EQ(response.name(), "m");
  EXPECT_EQ(response.platform(), "identity");
  ASSERT_EQ(response.versions_size(), 2);
  EXPECT_EQ(response.versions(0), "1");
  EXPECT_EQ(response.versions(1), "3");
  ASSERT_EQ(response.inputs_size(), 1);
  EXPECT_EQ(response.inputs(0).name(), "INPUT0");
  EXPECT_EQ(response.inputs(0).datatype(), "FP32");
  ASSERT_EQ(response.inputs(0).shape_size(), 2);
  EXPECT_EQ(response.inputs(0).shape(0), -1);
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).name(), "OUTPUT0");
  message.set_version("1");
  ASSERT_TRUE(call(&Stub::ModelMetadata, message, &response).ok());
  ASSERT_EQ(response.versions_size(), 1);
  EXPECT_EQ(response.versions(0), "1");
  message.set_version("");
  message.set_name("unbatched");
  ASSERT_TRUE(call(&Stub::ModelMetadata, message, &response).ok());
  EXPECT_EQ(response.inputs(0).shape_size(), 1);
  message.set_name("x");
  expect_status(call(&Stub::ModelMetadata, message, &response), StatusCode::NOT_FOUND,
                "Request for unknown model: 'x' is not found");
}

TEST_F(MethodsTest, ModelConfigIsTheStoredOne) {
  inference::ModelConfig config;
  config.set_name("m");
  config.set_max_batch_size(5);
  ModelInfo info;
  info.name = "m";
  info.version = 1;
  info.config = config.SerializeAsString();
  catalog_.add(info);
  info.name = "broken";
  info.config = "\xFF";
  catalog_.add(info);
  start();
  inference::ModelConfigRequest message;
  inference::ModelConfigResponse response;
  message.set_name("m");
  ASSERT_TRUE(call(&Stub::ModelConfig, message, &response).ok());
  EXPECT_EQ(response.config().SerializeAsString(), config.SerializeAsString());
  message.set_name("broken");
  EXPECT_EQ(call(&Stub::ModelConfig, message, &response).error_code(), StatusCode::INTERNAL);
}

TEST_F(MethodsTest, ModelStatistics) {
  catalog_.add_identity("a");
  catalog_.add_identity("b");
  start();
  ASSERT_TRUE(infer_ok("b").ok());
  inference::ModelStatisticsRequest message;
  inference::ModelStatisticsResponse response;
  ASSERT_TRUE(call(&Stub::ModelStatistics, message, &response).ok());
  ASSERT_EQ(response.model_stats_size(), 2);
  EXPECT_EQ(response.model_stats(1).name(), "b");
  EXPECT_EQ(response.model_stats(1).version(), "1");
  EXPECT_EQ(response.model_stats(1).inference_count(), 1u);
  EXPECT_EQ(response.model_stats(1).inference_stats().success().count(), 1u);
  message.set_name("x");
  expect_status(call(&Stub::ModelStatistics, message, &response), StatusCode::INVALID_ARGUMENT,
                "requested model 'x' is not available");
  message.set_name("a");
  message.set_version("9");
  expect_status(call(&Stub::ModelStatistics, message, &response), StatusCode::INVALID_ARGUMENT,
                "requested model version is not available for model 'a'");
}

TEST_F(MethodsTest, RepositoryIndex) {
  catalog_.add_identity("a");
  catalog_.add_identity("b");
  catalog_.unload({"b"}, [](const auto&) {});
  start();
  inference::RepositoryIndexRequest message;
  inference::RepositoryIndexResponse response;
  ASSERT_TRUE(call(&Stub::RepositoryIndex, message, &response).ok());
  ASSERT_EQ(response.models_size(), 2);
  EXPECT_EQ(response.models(0).name(), "a");
  EXPECT_EQ(response.models(0).version(), "1");
  EXPECT_EQ(response.models(0).state(), "READY");
  EXPECT_EQ(response.models(1).state(), "UNAVAILABLE");
  EXPECT_EQ(response.models(1).reason(), "unloaded");
  message.set_ready(true);
  ASSERT_TRUE(call(&Stub::RepositoryIndex, message, &response).ok());
  EXPECT_EQ(response.models_size(), 1);
  message.set_repository_name("r");
  expect_status(call(&Stub::RepositoryIndex, message, &response), StatusCode::UNIMPLEMENTED,
                "'repository_name' specification is not supported");
}

TEST_F(MethodsTest, LoadAndUnloadGoThroughModelControl) {
  host_.registry().publish<ModelControl>("control", control_);
  control_.decide = [](const test::FakeModelControl::Call& call) {
    return call.model == "bad" ? invalid_argument("load failed for model 'bad': why\n") : Status();
  };
  start();
  inference::RepositoryModelLoadRequest load;
  inference::RepositoryModelLoadResponse loaded;
  load.set_model_name("m");
  (*load.mutable_parameters())["config"].set_string_param("{}");
  (*load.mutable_parameters())["file:1/model.onnx"].set_bytes_param("bytes");
  EXPECT_TRUE(call(&Stub::RepositoryModelLoad, load, &loaded).ok());
  inference::RepositoryModelUnloadRequest unload;
  inference::RepositoryModelUnloadResponse unloaded;
  unload.set_model_name("m");
  (*unload.mutable_parameters())["unload_dependents"].set_bool_param(true);
  (*unload.mutable_parameters())["ignored"].set_bool_param(true);
  EXPECT_TRUE(call(&Stub::RepositoryModelUnload, unload, &unloaded).ok());
  std::vector<test::FakeModelControl::Call> calls = control_.calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_TRUE(calls[0].load);
  EXPECT_EQ(calls[0].parameters.size(), 2u);
  EXPECT_FALSE(calls[1].load);
  ASSERT_EQ(calls[1].parameters.size(), 1u);
  EXPECT_TRUE(calls[1].parameters[0].bool_value);
  load.clear_parameters();
  load.set_model_name("bad");
  expect_status(call(&Stub::RepositoryModelLoad, load, &loaded), StatusCode::INVALID_ARGUMENT,
                "load failed for model 'bad': why\n");
}

TEST_F(MethodsTest, LoadAndUnloadRefuseWithTheProtocolsTexts) {
  start();
  inference::RepositoryModelLoadRequest load;
  inference::RepositoryModelLoadResponse loaded;
  inference::RepositoryModelUnloadRequest unload;
  inference::RepositoryModelUnloadResponse unloaded;
  const char* not_allowed = "explicit model load / unload is not allowed if polling is enabled";
  expect_status(call(&Stub::RepositoryModelLoad, load, &loaded), StatusCode::UNAVAILABLE, not_allowed);
  expect_status(call(&Stub::RepositoryModelUnload, unload, &unloaded), StatusCode::UNAVAILABLE, not_allowed);
  auto refuse_load = [&](const char* key, auto set, const char* text) {
    load.clear_parameters();
    set((*load.mutable_parameters())[key]);
    expect_status(call(&Stub::RepositoryModelLoad, load, &loaded), StatusCode::INVALID_ARGUMENT, text);
  };
  refuse_load(
      "config", [](auto& value) { value.set_bytes_param("{}"); },
      "invalid value type for load parameter 'config', expected string_param.");
  refuse_load(
      "file:1/m", [](auto& value) { value.set_string_param("x"); },
      "invalid value type for load parameter 'file:1/m', expected bytes_param.");
  refuse_load(
      "other", [](auto& value) { value.set_bool_param(true); }, "unrecognized load parameter 'other'.");
  (*unload.mutable_parameters())["unload_dependents"].set_string_param("true");
  expect_status(call(&Stub::RepositoryModelUnload, unload, &unloaded), StatusCode::INVALID_ARGUMENT,
                "invalid value type for 'unload_dependents' parameter, expected bool_param.");
  load.set_repository_name("r");
  unload.set_repository_name("r");
  const char* repository = "'repository_name' specification is not supported";
  expect_status(call(&Stub::RepositoryModelLoad, load, &loaded), StatusCode::UNIMPLEMENTED, repository);
  expect_status(call(&Stub::RepositoryModelUnload, unload, &unloaded), StatusCode::UNIMPLEMENTED, repository);
}

TEST_F(MethodsTest, SharedMemoryIsOff) {
  start();
  const char* off =
      "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
  inference::SystemSharedMemoryRegisterResponse registered;
  inference::SystemSharedMemoryUnregisterResponse unregistered;
  inference::CudaSharedMemoryRegisterResponse cuda_registered;
  inference::CudaSharedMemoryUnregisterResponse cuda_unregistered;
  expect_status(call(&Stub::SystemSharedMemoryRegister, {}, &registered), StatusCode::UNIMPLEMENTED, off);
  expect_status(call(&Stub::SystemSharedMemoryUnregister, {}, &unregistered), StatusCode::UNIMPLEMENTED, off);
  expect_status(call(&Stub::CudaSharedMemoryRegister, {}, &cuda_registered), StatusCode::UNIMPLEMENTED, off);
  expect_status(call(&Stub::CudaSharedMemoryUnregister, {}, &cuda_unregistered), StatusCode::UNIMPLEMENTED,
                off);
  inference::SystemSharedMemoryStatusRequest system;
  inference::SystemSharedMemoryStatusResponse system_status;
  inference::CudaSharedMemoryStatusRequest cuda;
  inference::CudaSharedMemoryStatusResponse cuda_status;
  EXPECT_TRUE(call(&Stub::SystemSharedMemoryStatus, system, &system_status).ok());
  EXPECT_TRUE(call(&Stub::CudaSharedMemoryStatus, cuda, &cuda_status).ok());
  system.set_name("r");
  cuda.set_name("r");
  expect_status(call(&Stub::SystemSharedMemoryStatus, system, &system_status), StatusCode::NOT_FOUND,
                "Unable to find system shared memory region: 'r'");
  expect_status(call(&Stub::CudaSharedMemoryStatus, cuda, &cuda_status), StatusCode::NOT_FOUND,
                "Unable to find cuda shared memory region: 'r'");
}

TEST_F(MethodsTest, SettingsWithoutTheirPluginsAreUnimplemented) {
  start();
  inference::TraceSettingResponse trace;
  inference::LogSettingsResponse log;
  expect_status(call(&Stub::TraceSetting, {}, &trace), StatusCode::UNIMPLEMENTED,
                "trace settings are not available: this server has no trace plugin");
  expect_status(call(&Stub::LogSettings, {}, &log), StatusCode::UNIMPLEMENTED,
                "log settings are not available in this server");
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
