// The calls that change what the server shows of itself: log settings, shared memory regions.
#include "atoll/core/log_control.h"
#include "atoll/testing/fake_shared_memory.h"
#include "frontends/common/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class FakeLogControl final : public LogControl {
 public:
  LogSettings settings() const noexcept override { return now; }
  Status update(const LogSettings& settings) noexcept override {
    now = settings;
    return {};
  }
  LogSettings now;
};

class SettingsTest : public GrpcFrontendTest {
 protected:
  template <class Request, class Response>
  grpc::Status call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& message, Response* response) {
    grpc::ClientContext context;
    return (stub_.get()->*method)(&context, message, response);
  }
};

TEST_F(SettingsTest, LogSettingsAreShownAndChanged) {
  FakeLogControl log;
  log.now.file = "/var/log/atoll";
  host_.registry().publish<LogControl>("kernel", log);
  start();
  inference::LogSettingsRequest message;
  inference::LogSettingsResponse response;
  ASSERT_TRUE(call(&Stub::LogSettings, message, &response).ok());
  EXPECT_EQ(response.settings_size(), 6);
  EXPECT_EQ(response.settings().at("log_file").string_param(), "/var/log/atoll");
  EXPECT_TRUE(response.settings().at("log_info").bool_param());
  EXPECT_EQ(response.settings().at("log_format").string_param(), "default");
  auto& settings = *message.mutable_settings();
  settings["log_info"].set_bool_param(false);
  settings["log_verbose_level"].set_uint32_param(2);
  settings["log_format"].set_string_param("ISO8601");
  settings["unknown"].set_bool_param(true);
  ASSERT_TRUE(call(&Stub::LogSettings, message, &response).ok());
  EXPECT_FALSE(log.now.info);
  EXPECT_EQ(log.now.verbose_level, 2u);
  EXPECT_EQ(response.settings().at("log_format").string_param(), "ISO8601");
  EXPECT_EQ(response.settings_size(), 6);
}

TEST_F(SettingsTest, LogSettingsRefuseWithTheProtocolsTexts) {
  FakeLogControl log;
  host_.registry().publish<LogControl>("kernel", log);
  start();
  auto refuse = [&](const char* key, auto set, StatusCode code, const char* text) {
    inference::LogSettingsRequest message;
    inference::LogSettingsResponse response;
    (*message.mutable_settings())["log_error"].set_bool_param(false);
    set((*message.mutable_settings())[key]);
    expect_status(call(&Stub::LogSettings, message, &response), code, text);
    EXPECT_TRUE(log.now.error) << "all or nothing";
  };
  auto number = [](auto& value) { value.set_uint32_param(1); };
  auto word = [](auto& value) { value.set_string_param("x"); };
  refuse("log_file", word, StatusCode::UNIMPLEMENTED,
         "log file location can not be updated through network protocol");
  refuse("log_info", number, StatusCode::INVALID_ARGUMENT, "expect boolean for 'log_info'");
  refuse("log_warning", word, StatusCode::INVALID_ARGUMENT, "expect boolean for 'log_warning'");
  refuse("log_verbose_level", word, StatusCode::INVALID_ARGUMENT, "expect int32 for 'log_verbose_level'");
  refuse("log_format", number, StatusCode::INVALID_ARGUMENT, "expect string for 'log_format'");
  refuse("log_format", word, StatusCode::INVALID_ARGUMENT, "invalid argument for log_format, got: x");
}

TEST_F(SettingsTest, SharedMemoryCallsReachTheirPlugin) {
  test::FakeSharedMemory memory;
  host_.registry().publish<SharedMemory>("shm", memory);
  start();
  inference::SystemSharedMemoryRegisterRequest message;
  inference::SystemSharedMemoryRegisterResponse registered;
  message.set_name("r");
  message.set_key("/key");
  message.set_offset(16);
  message.set_byte_size(64);
  EXPECT_TRUE(call(&Stub::SystemSharedMemoryRegister, message, &registered).ok());
  expect_status(call(&Stub::SystemSharedMemoryRegister, message, &registered), StatusCode::ALREADY_EXISTS,
                "shared memory region 'r' already in manager");
  inference::CudaSharedMemoryRegisterRequest cuda;
  inference::CudaSharedMemoryRegisterResponse cuda_registered;
  cuda.set_name("c");
  cuda.set_raw_handle(std::string(64, 'h'));
  cuda.set_byte_size(8);
  EXPECT_TRUE(call(&Stub::CudaSharedMemoryRegister, cuda, &cuda_registered).ok());
  inference::SystemSharedMemoryStatusResponse status;
  ASSERT_TRUE(call(&Stub::SystemSharedMemoryStatus, {}, &status).ok());
  ASSERT_EQ(status.regions_size(), 1);
  EXPECT_EQ(status.regions().at("r").name(), "r");
  EXPECT_EQ(status.regions().at("r").byte_size(), 64u);
  inference::SystemSharedMemoryUnregisterRequest unregister;
  inference::SystemSharedMemoryUnregisterResponse unregistered;
  unregister.set_name("r");
  EXPECT_TRUE(call(&Stub::SystemSharedMemoryUnregister, unregister, &unregistered).ok());
  EXPECT_EQ(memory.calls(), (std::vector<std::string>{"register r /key 16 64", "register r /key 16 64",
                                                      "register cuda c 64 0 8", "unregister r"}));
  stop();
}

TEST_F(SettingsTest, TensorsInSharedMemoryAreReadAndWrittenThere) {
  test::FakeSharedMemory memory;
  std::string& in = memory.add("in", "0123456789abcdef");
  std::string& out = memory.add("out", std::string(64, '.'));
  host_.registry().publish<SharedMemory>("shm", memory);
  catalog_.add_identity("m");
  start();
  inference::ModelInferRequest message = request("m", 2);
  message.clear_raw_input_contents();
  auto place = [](auto& parameters, const char* region, int64_t offset, int64_t size) {
    parameters["shared_memory_region"].set_string_param(region);
    parameters["shared_memory_offset"].set_int64_param(offset);
    parameters["shared_memory_byte_size"].set_int64_param(size);
  };
  place(*message.mutable_inputs(0)->mutable_parameters(), "in", 4, 8);
  auto* output = message.add_outputs();
  output->set_name("OUTPUT0");
  place(*output->mutable_parameters(), "out", 8, 16);
  inference::ModelInferResponse response;
  grpc::Status status = infer(message, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(out.substr(8, 8), in.substr(4, 8));
  ASSERT_EQ(response.raw_output_contents_size(), 1);
  EXPECT_EQ(response.raw_output_contents(0), "") << "it is in the region";
  out.assign(64, '.');
  grpc::ClientContext context;
  auto stream = stub_->ModelStreamInfer(&context);
  stream->Write(message);
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "");
  EXPECT_EQ(out.substr(8, 8), in.substr(4, 8));
  memory.set_broken("in");
  stream->Write(message);
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_NE(answer.error_message(), "");
  EXPECT_FALSE(infer(message, &response).ok());
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(eventually([&] { return memory.leases() == 0; }));
  stop();
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
