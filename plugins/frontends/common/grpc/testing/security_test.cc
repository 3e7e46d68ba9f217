// Access, forwarded headers, limits of metadata and messages.

#include "atoll/testing/fake_access.h"
#include "atoll/testing/followed_fake.h"
#include "frontends/common/grpc/testing/stream_fixture.h"
#include "health.grpc.pb.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class AccessTest : public StreamTest {
 protected:
  using Metadata = std::vector<std::pair<std::string, std::string>>;
  static constexpr auto kText = "This protocol is restricted, expecting header 'the-key'";

  ~AccessTest() override { stop(); }
  void start_restricted(std::initializer_list<ApiCategory> categories) {
    for (ApiCategory category : categories) {
      access_.require(category, "the-key", "secret value", unavailable(kText));
    }
    start_with_access();
  }
  void start_with_access() {
    host_.registry().publish<Access>("keys", access_);
    start();
  }
  grpc::Status infer_with(const Metadata& metadata) {
    grpc::ClientContext context;
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    inference::ModelInferResponse response;
    return infer(request("m"), &response, &context);
  }
  grpc::Status stream_with(const Metadata& metadata) {
    grpc::ClientContext context;
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    auto stream = open(&context);
    return finish(*stream);
  }
  bool waits(size_t count) {
    return eventually([&] { return access_.waiting() == count; });
  }

  test::FakeAccess access_;
};

TEST_F(AccessTest, InferenceNeedsTheKeyOnBothCalls) {
  catalog_.add_identity("m");
  start_restricted({ApiCategory::kInference});
  const std::string name = "the-key";
  for (const Metadata& metadata :
       {Metadata{}, Metadata{{name, ""}}, Metadata{{name, "wrong"}}, Metadata{{name, "secret valuE"}},
        Metadata{{"other-key", "secret value"}}, Metadata{{name, "secret value"}, {name, "wrong"}},
        Metadata{{name, "wrong"}, {name, "secret value"}}}) {
    expect_status(infer_with(metadata), StatusCode::UNAVAILABLE, kText);
    expect_status(stream_with(metadata), StatusCode::UNAVAILABLE, kText);
  }
  EXPECT_TRUE(infer_with({{name, "secret value"}}).ok());
  EXPECT_TRUE(stream_with({{name, "secret value"}}).ok());
  EXPECT_TRUE(all_gone());
  EXPECT_FALSE(host_.log().contains("secret value"));
  EXPECT_EQ(access_.last_protocol(), CallProtocol::kGrpc);
  EXPECT_TRUE(access_.last_peer().starts_with("ipv4:127.0.0.1:")) << access_.last_peer();
}

TEST_F(AccessTest, RequestsSayWhoTheirCallerIs) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  std::vector<std::string> callers;
  model.respond = [&](Request& request) {
    callers.emplace_back(request.caller);
    test::answer_identity(request);
    (void)request.release().ok();
  };
  start_restricted({ApiCategory::kInference});
  EXPECT_TRUE(infer_with({{"the-key", "secret value"}}).ok());
  grpc::ClientContext context;
  context.AddMetadata("the-key", "secret value");
  auto stream = open(&context);
  stream->Write(request("m"));
  EXPECT_EQ(read(*stream).error_message(), "");
  EXPECT_TRUE(finish(*stream).ok());
  EXPECT_EQ(callers, (std::vector<std::string>{"the-key", "the-key"}));
  host_.registry().withdraw(std::string(Access::kInterfaceId), "keys");
  test::publish_service_changed(host_, Access::kInterfaceId, "keys");
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(infer_with({}).ok()) << "contexts are used again";
  EXPECT_EQ(callers.back(), "");
}

TEST_F(AccessTest, ARefusedStreamEndsAlsoIfTheClientGoesOnWriting) {
  catalog_.add_identity("m");
  start_restricted({ApiCategory::kInference});
  grpc::ClientContext context;
  auto stream = open(&context);
  while (stream->Write(request("m", 10'000))) {
  }
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(AccessTest, EveryOtherMethodBelongsToACategory) {
  start_restricted({ApiCategory::kHealth, ApiCategory::kMetadata, ApiCategory::kSharedMemory,
                    ApiCategory::kModelConfig, ApiCategory::kModelRepository, ApiCategory::kStatistics,
                    ApiCategory::kTrace, ApiCategory::kLogging});
  const std::pair<const char*, ApiCategory> expected[] = {
      {"ServerLive", ApiCategory::kHealth},
      {"ServerReady", ApiCategory::kHealth},
      {"ModelReady", ApiCategory::kHealth},
      {"ServerMetadata", ApiCategory::kMetadata},
      {"ModelMetadata", ApiCategory::kMetadata},
      {"ModelConfig", ApiCategory::kModelConfig},
      {"ModelStatistics", ApiCategory::kStatistics},
      {"RepositoryIndex", ApiCategory::kModelRepository},
      {"RepositoryModelLoad", ApiCategory::kModelRepository},
      {"RepositoryModelUnload", ApiCategory::kModelRepository},
      {"SystemSharedMemoryStatus", ApiCategory::kSharedMemory},
      {"SystemSharedMemoryRegister", ApiCategory::kSharedMemory},
      {"SystemSharedMemoryUnregister", ApiCategory::kSharedMemory},
      {"CudaSharedMemoryStatus", ApiCategory::kSharedMemory},
      {"CudaSharedMemoryRegister", ApiCategory::kSharedMemory},
      {"CudaSharedMemoryUnregister", ApiCategory::kSharedMemory},
      {"TraceSetting", ApiCategory::kTrace},
      {"LogSettings", ApiCategory::kLogging}};
  for (const auto& [method, category] : expected) {
    const size_t before = access_.asked(category);
    expect_status(call_raw(cat("/inference.GRPCInferenceService/", method), ""), StatusCode::UNAVAILABLE,
                  kText);
    EXPECT_EQ(access_.asked(category), before + 1) << method;
  }
  expect_status(call_raw("/grpc.health.v1.Health/Check", ""), StatusCode::UNAVAILABLE, kText);
  EXPECT_EQ(infer_ok("m").error_code(), StatusCode::NOT_FOUND) << "inference is free";
}

TEST_F(AccessTest, CallsWaitForTheAnswer) {
  catalog_.add_identity("m");
  access_.hold(ApiCategory::kInference);
  start_with_access();
  auto unary = std::async(std::launch::async, [this] { return infer_with({}); });
  auto stream = std::async(std::launch::async, [this] { return stream_with({}); });
  ASSERT_TRUE(waits(2));
  EXPECT_EQ(calls(), 0) << "it has cost nothing yet";
  EXPECT_EQ(call_raw("/inference.GRPCInferenceService/ServerLive", "").error_code(), StatusCode::OK);
  access_.answer();
  EXPECT_TRUE(unary.get().ok());
  EXPECT_TRUE(stream.get().ok());
  unary = std::async(std::launch::async, [this] { return infer_with({}); });
  stream = std::async(std::launch::async, [this] { return stream_with({}); });
  ASSERT_TRUE(waits(2));
  access_.answer(Code::kPermissionDenied, "not you");
  expect_status(unary.get(), StatusCode::PERMISSION_DENIED, "not you");
  expect_status(stream.get(), StatusCode::PERMISSION_DENIED, "not you");
  EXPECT_TRUE(all_gone());
}

TEST_F(AccessTest, SoDoManagementCalls) {
  access_.hold(ApiCategory::kHealth);
  start_with_access();
  auto call = [this] { return call_raw("/inference.GRPCInferenceService/ServerLive", ""); };
  auto live = std::async(std::launch::async, call);
  ASSERT_TRUE(waits(1));
  access_.answer();
  EXPECT_TRUE(live.get().ok());
  live = std::async(std::launch::async, call);
  ASSERT_TRUE(waits(1));
  access_.answer(Code::kUnauthenticated, "who are you");
  expect_status(live.get(), StatusCode::UNAUTHENTICATED, "who are you");
}

TEST_F(AccessTest, AClientThatHasGoneIsForgottenWhenTheAnswerIsThere) {
  catalog_.add_identity("m");
  access_.hold(ApiCategory::kInference);
  start_with_access();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  inference::ModelInferResponse response;
  EXPECT_EQ(infer(request("m"), &response, &context).error_code(), StatusCode::DEADLINE_EXCEEDED);
  grpc::ClientContext cancelled;
  auto stream = open(&cancelled);
  ASSERT_TRUE(waits(2));
  cancelled.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  access_.answer();
  EXPECT_TRUE(all_gone());
}

TEST_F(AccessTest, TheServerStopsWhenTheLastAnswerIsThere) {
  catalog_.add_identity("m");
  access_.hold(ApiCategory::kInference);
  start_with_access();
  auto unary = std::async(std::launch::async, [this] { return infer_with({}); });
  auto stream = std::async(std::launch::async, [this] { return stream_with({}); });
  ASSERT_TRUE(waits(2));
  auto stopped = std::async(std::launch::async, [this] { stop(); });
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  access_.answer();
  stopped.get();
  EXPECT_FALSE(unary.get().ok());
  EXPECT_FALSE(stream.get().ok());
}

class HeadersTest : public AccessTest {
 protected:
  HeadersTest() : model_(catalog_.add_identity("m")) {
    model_.respond = [this](Request& request) {
      seen_.clear();
      for (const Parameter& parameter : request.parameters) {
        EXPECT_EQ(parameter.type, ParameterType::kString);
        EXPECT_EQ(parameter.key.data()[parameter.key.size()], '\0');
        EXPECT_EQ(parameter.text.data()[parameter.text.size()], '\0');
        seen_[std::string(parameter.key)] = parameter.text;
      }
      test::answer_identity(request);
      (void)request.release().ok();
    };
  }
  void start_forwarding(const std::string& pattern) {
    host_.options().set_string("header_forward_pattern", pattern);
    start();
  }

  test::FakeServedModel& model_;
  std::map<std::string, std::string> seen_;
};

TEST_F(HeadersTest, NothingIsForwardedByDefault) {
  start();
  EXPECT_TRUE(infer_with({{"x-a", "1"}, {"priority", "1"}}).ok());
  EXPECT_TRUE(seen_.empty());
}

TEST_F(HeadersTest, MatchingMetadataBecomesParametersOfInferences) {
  start_forwarding("^(X-|tenant)");
  EXPECT_TRUE(
      infer_with({{"x-a", "1"}, {"my-x-b", "2"}, {"tenant-id", "t"}, {"x-c", ""}, {"priority", "1"}}).ok());
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(seen_, (Map{{"x-a", "1"}, {"tenant-id", "t"}, {"x-c", ""}}));
  grpc::ClientContext context;
  context.AddMetadata("x-a", "stream");
  auto stream = open(&context);
  for (int i = 0; i < 2; ++i) {
    stream->Write(request("m"));
    EXPECT_EQ(read(*stream).error_message(), "");
    EXPECT_EQ(seen_, (Map{{"x-a", "stream"}}));
  }
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(HeadersTest, AHeaderTakesThePlaceOfAParameterAndTheLastOfSeveralCounts) {
  start_forwarding("x-");
  inference::ModelInferRequest message = request("m");
  (*message.mutable_parameters())["x-a"].set_int64_param(5);
  (*message.mutable_parameters())["own"].set_string_param("kept");
  grpc::ClientContext context;
  context.AddMetadata("x-a", "first");
  context.AddMetadata("x-a", "second");
  inference::ModelInferResponse response;
  EXPECT_TRUE(infer(message, &response, &context).ok());
  EXPECT_EQ(seen_, (std::map<std::string, std::string>{{"x-a", "second"}, {"own", "kept"}}));
}

TEST_F(HeadersTest, ReservedNamesAreRefused) {
  start_forwarding("(?i)priority|triton");
  expect_status(infer_with({{"priority", "1"}}), StatusCode::INVALID_ARGUMENT,
                "Header 'priority' is reserved for Triton usage and cannot be forwarded.");
  expect_status(infer_with({{"triton_enable_empty_final_response", "1"}}), StatusCode::INVALID_ARGUMENT,
                "Header 'triton_enable_empty_final_response' is reserved for Triton usage and cannot be "
                "forwarded.");
  grpc::ClientContext context;
  context.AddMetadata("priority", "1");
  auto stream = open(&context);
  stream->Write(request("m"));
  EXPECT_EQ(read(*stream).error_message(),
            "Header 'priority' is reserved for Triton usage and cannot be forwarded.");
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(HeadersTest, BinaryMetadataIsForwardedOnlyAsText) {
  start_forwarding(".*");
  EXPECT_TRUE(
      infer_with({{"x-bin", "\xFF\xFE"}, {"y-bin", "text \xE2\x82\xAC"}, {"x", std::string(20'000, 'v')}})
          .ok());
  EXPECT_EQ(seen_.count("x-bin"), 0u);
  EXPECT_EQ(seen_["y-bin"], "text \xE2\x82\xAC");
  EXPECT_EQ(seen_["x"].size(), 20'000u);
}

class MayEverything final : public Identity {
 public:
  ~MayEverything() override = default;
  std::string_view name() const noexcept override { return "a"; }
  std::string_view tenant() const noexcept override { return {}; }
  bool may(ApiCategory, std::string_view, std::string_view) const noexcept override { return true; }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return true; }
  bool holds() const noexcept override { return true; }
};

TEST_F(HeadersTest, WhatACallerPresentsIsForwardedToNoModel) {
  const MayEverything everybody;
  test::FakeAccess access;
  access.know("a", &everybody);
  host_.registry().publish<Access>("keys", access, 0, 1);
  start_forwarding("x-own|auth|cookie");
  EXPECT_TRUE(infer_with({{"authorization", "Bearer a"}, {"x-own", "1"}, {"cookie", "a=b"}}).ok());
  EXPECT_EQ(seen_, (std::map<std::string, std::string>{{"x-own", "1"}}));
  stop();
}

TEST_F(HeadersTest, APatternThatCanNotBeCompiledIsRefusedAtTheStart) {
  host_.options().set_string("header_forward_pattern", "x-(");
  GrpcFrontend frontend(host_);
  EXPECT_EQ(frontend.init().message(),
            "option 'header_forward_pattern' is 'x-(', expected a regular expression in RE2 syntax: missing "
            "): x-(");
}

TEST_F(HeadersTest, MetadataOverTheLimitIsRefusedAndOthersAreServed) {
  start();
  EXPECT_TRUE(infer_with({{"x", std::string(60'000, 'v')}}).ok());
  EXPECT_EQ(infer_with({{"x", std::string(70'000, 'v')}}).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  // gRPC may close the offender's connection; others have theirs.
  stub_ = inference::GRPCInferenceService::NewStub(channel());
  const grpc::Status after = infer_with({});
  EXPECT_TRUE(after.ok()) << after.error_code() << " " << after.error_message();
}

TEST_F(HeadersTest, AnErrorTextOfAnyLengthReachesTheClient) {
  for (const std::string& text : {std::string(100'000, 'x'), std::string(100'000, '\n')}) {
    model_.respond = [&](Request& request) { fail_request(request, internal_error(text)); };
    start();
    grpc::Status status = infer_with({});
    EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
    EXPECT_TRUE(status.error_message().ends_with(" (shortened)")) << status.error_message();
    grpc::ClientContext context;
    auto stream = open(&context);
    stream->Write(request("m"));
    EXPECT_EQ(read(*stream).error_message(), text) << "in band there is no such limit";
    EXPECT_TRUE(finish(*stream).ok());
    stub_.reset();
    stop();
  }
}

class StartTest : public GrpcFrontendTest {
 protected:
  Status try_start() {
    GrpcFrontend frontend(host_);
    ATOLL_RETURN_IF_ERROR(frontend.init());
    return frontend.start();
  }
};

TEST_F(StartTest, TlsFilesThatAreNeededMustBeNamed) {
  auto empty = [](const char* key, const char* wanted) {
    return cat("option '", key, "' is empty, expected the path of a PEM file, because '", wanted,
               "' is true");
  };
  host_.options().set_bool("use_ssl", true);
  EXPECT_EQ(try_start().message(), empty("server_cert", "use_ssl"));
  host_.options().set_string("server_cert", "c");
  EXPECT_EQ(try_start().message(), empty("server_key", "use_ssl"));
  host_.options().set_string("server_key", "k");
  host_.options().set_bool("use_ssl", false).set_bool("use_ssl_mutual", true);
  EXPECT_EQ(try_start().message(), empty("root_cert", "use_ssl_mutual"));
}

TEST_F(StartTest, APortIsSharedOnlyByThoseThatAllAskForIt) {
  host_.options().set_bool("reuse_port", true);
  start();
  host_.options().set_string("address", target());
  EXPECT_TRUE(try_start().ok());
  host_.options().set_bool("reuse_port", false);
  EXPECT_EQ(try_start().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
