// ModelInfer from the client's side.
#include "frontends/common/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;
using InferTest = GrpcFrontendTest;

TEST_F(InferTest, AnswersWithTheBytesOfTheInput) {
  test::FakeServedModel& model = catalog_.add_identity("identity");
  start();
  for (size_t elements : {0u, 1u, 16u, 1023u, 1024u, 1025u, 300'000u}) {
    inference::ModelInferRequest message = request("identity", elements);
    inference::ModelInferResponse response;
    grpc::Status status = infer(message, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.model_name(), "identity");
    EXPECT_EQ(response.model_version(), "1");
    EXPECT_EQ(response.id(), "7");
    ASSERT_EQ(response.outputs_size(), 1);
    EXPECT_EQ(response.outputs(0).name(), "OUTPUT0");
    EXPECT_EQ(response.outputs(0).datatype(), "FP32");
    ASSERT_EQ(response.outputs(0).shape_size(), 1);
    EXPECT_EQ(response.outputs(0).shape(0), static_cast<int64_t>(elements));
    ASSERT_EQ(response.raw_output_contents_size(), 1);
    EXPECT_EQ(response.raw_output_contents(0), message.raw_input_contents(0));
  }
  stop();
  EXPECT_EQ(model.references(), 0);
}

TEST_F(InferTest, SeveralLargeAndSmallTensorsKeepTheirOrder) {
  catalog_.add_identity("m");
  start();
  inference::ModelInferRequest message;
  message.set_model_name("m");
  for (int i = 0; i < 12; ++i) {
    auto* input = message.add_inputs();
    input->set_name("INPUT" + std::to_string(i));
    input->set_datatype("UINT8");
    const size_t size = i % 3 == 0 ? 100'000 + static_cast<size_t>(i) : static_cast<size_t>(i);
    input->add_shape(static_cast<int64_t>(size));
    message.add_raw_input_contents(std::string(size, static_cast<char>('a' + i)));
  }
  inference::ModelInferResponse response;
  ASSERT_TRUE(infer(message, &response).ok());
  ASSERT_EQ(response.raw_output_contents_size(), 12);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(response.raw_output_contents(i), message.raw_input_contents(i));
}

TEST_F(InferTest, TypedContentsWork) {
  catalog_.add_identity("m", DataType::kBytes);
  start();
  inference::ModelInferRequest message = request("m");
  message.clear_raw_input_contents();
  message.mutable_inputs(0)->set_datatype("BYTES");
  message.mutable_inputs(0)->mutable_contents()->add_bytes_contents("hello");
  inference::ModelInferResponse response;
  ASSERT_TRUE(infer(message, &response).ok());
  EXPECT_EQ(response.raw_output_contents(0), std::string("\5\0\0\0hello", 9));
}

TEST_F(InferTest, ClassificationReplacesTheTensor) {
  catalog_.add_identity("m");
  start();
  inference::ModelInferRequest message = request("m", 3);
  const float values[] = {1, 3, 2};
  message.set_raw_input_contents(0, std::string(reinterpret_cast<const char*>(values), sizeof values));
  auto* output = message.add_outputs();
  output->set_name("OUTPUT0");
  (*output->mutable_parameters())["classification"].set_int64_param(2);
  inference::ModelInferResponse response;
  ASSERT_TRUE(infer(message, &response).ok());
  EXPECT_EQ(response.outputs(0).datatype(), "BYTES");
  EXPECT_EQ(response.outputs(0).shape(0), 2);
  EXPECT_EQ(response.raw_output_contents(0), std::string("\x0A\0\0\0"
                                                         "3.000000:1"
                                                         "\x0A\0\0\0"
                                                         "2.000000:2",
                                                         28));
}

TEST_F(InferTest, ALargeTensorThatIsClassifiedIsFreed) {
  catalog_.add_identity("m", DataType::kBool);
  start();
  for (const char* datatype : {"FP32", "FP16"}) {
    inference::ModelInferRequest message = request("m", 50'000);
    message.mutable_inputs(0)->set_datatype(datatype);
    auto* output = message.add_outputs();
    output->set_name("OUTPUT0");
    (*output->mutable_parameters())["classification"].set_int64_param(1);
    inference::ModelInferResponse response;
    grpc::Status status = infer(message, &response);
    EXPECT_EQ(status.ok(), std::string(datatype) == "FP32") << status.error_message();
  }
}

TEST_F(InferTest, AClassificationAsLargeAsATensorIsSentWhole) {
  catalog_.add_identity("m");
  start();
  constexpr uint32_t kElements = 3000;
  inference::ModelInferRequest message = request("m", kElements);
  std::string values, expected;
  for (uint32_t i = 0; i < kElements; ++i) {
    const auto value = static_cast<float>(kElements - i);
    values.append(reinterpret_cast<const char*>(&value), sizeof value);
    const std::string text = std::to_string(kElements - i) + ".000000:" + std::to_string(i);
    const auto length = static_cast<uint32_t>(text.size());
    expected.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  }
  message.set_raw_input_contents(0, values);
  auto* output = message.add_outputs();
  output->set_name("OUTPUT0");
  (*output->mutable_parameters())["classification"].set_int64_param(kElements);
  for (int i = 0; i < 20; ++i) {  // the context, and its memory, is used again
    inference::ModelInferResponse response;
    ASSERT_TRUE(infer(message, &response).ok());
    ASSERT_EQ(response.raw_output_contents(0), expected);
  }
}

TEST_F(InferTest, FailuresHaveTheProtocolsTexts) {
  catalog_.add_identity("m");
  ModelInfo decoupled;
  decoupled.name = "decoupled";
  decoupled.version = 1;
  decoupled.decoupled = true;
  catalog_.add(decoupled);
  start();
  auto ask = [this](const std::string& model, const std::string& version) {
    inference::ModelInferRequest message = request(model);
    message.set_model_version(version);
    inference::ModelInferResponse response;
    return infer(message, &response);
  };
  expect_status(ask("x", ""), StatusCode::NOT_FOUND, "Request for unknown model: 'x' is not found");
  expect_status(ask("", ""), StatusCode::NOT_FOUND, "Request for unknown model: '' is not found");
  expect_status(ask("m", "2"), StatusCode::NOT_FOUND,
                "Request for unknown model: 'm' version 2 is not found");
  expect_status(
      ask("m", "v1"), StatusCode::INVALID_ARGUMENT,
      "failed to get model version from specified version string 'v1' (details: stol), version should "
      "be an integral value > 0");
  expect_status(ask("m", "-2"), StatusCode::INVALID_ARGUMENT,
                "invalid model version specified '-2' , version should be an integral value > 0");
  EXPECT_TRUE(ask("m", "1x").ok());
  expect_status(ask("decoupled", ""), StatusCode::UNIMPLEMENTED,
                "ModelInfer RPC doesn't support models with decoupled transaction policy");
  catalog_.unload({"m"}, [](const auto&) {});
  expect_status(ask("m", ""), StatusCode::NOT_FOUND,
                "Request for unknown model: 'm' has no available versions");
  expect_status(ask("m", "1"), StatusCode::UNAVAILABLE,
                "Request for unknown model: 'm' version 1 is not at ready state");
}

TEST_F(InferTest, FailuresOfTheModelReachTheClientUnchanged) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  start();
  model.refuse = [](Request&) { return invalid_argument("refused by validation"); };
  expect_status(infer_ok("m"), StatusCode::INVALID_ARGUMENT, "refused by validation");
  model.refuse = nullptr;
  model.respond = [](Request& request) {
    fail_request(request, internal_error("line 1\nline 2 \xE2\x82\xAC"));
  };
  expect_status(infer_ok("m"), StatusCode::INTERNAL, "line 1\nline 2 \xE2\x82\xAC");
  model.respond = [](Request& request) { fail_request(request, Status(Code::kCancelled, "")); };
  expect_status(infer_ok("m"), StatusCode::CANCELLED, "");
  model.respond = [](Request& request) {
    request.sink->send(nullptr, kFinal);
    (void)request.release().ok();
  };
  expect_status(infer_ok("m"), StatusCode::INTERNAL, "expected a single response, got 0");
  model.respond = [](Request& request) {
    test::answer_identity(request, 0);
    test::answer_identity(request, kFinal);
    (void)request.release().ok();
  };
  expect_status(infer_ok("m"), StatusCode::INTERNAL, "expected a single response, got 2");
}

TEST_F(InferTest, AResponseTooLargeForGrpcIsRefused) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  model.respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {1};
    OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, shape);
    Status status = response->allocate(output, uint64_t{3} << 30);
    response->outputs.truncate(0);
    response->send_error(std::move(status));
    (void)request.release().ok();
  };
  start();
  expect_status(infer_ok("m"), StatusCode::INVALID_ARGUMENT,
                "Response has byte size 3221225472 which exceeds gRPC's byte size limit 2147483647.");
}

TEST_F(InferTest, AnswersFromAnotherThread) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  auto answer = infer_async("m");
  held.answer();
  EXPECT_TRUE(answer.get().ok());
  EXPECT_TRUE(eventually([&] { return model.references() == 0; }));
}

TEST_F(InferTest, ReleaseBeforeOrAfterTheAnswerIsTheSame) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  model.respond = [](Request& request) {
    ResponseSink* sink = request.sink;
    Response* response = sink->new_response();
    (void)request.release().ok();
    response->send();
  };
  start();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(infer_ok("m").ok());
  EXPECT_TRUE(eventually([&] { return model.references() == 0; }));
}

TEST_F(InferTest, ACancelReachesTheRequestAndNothingIsWritten) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  grpc::ClientContext context;
  auto answer = infer_async("m", &context);
  held.wait();
  context.TryCancel();
  EXPECT_EQ(answer.get().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(held.wait_cancelled());
  EXPECT_EQ(model.references(), 1);
  EXPECT_EQ(calls(), 1);
  held.answer();
  EXPECT_TRUE(eventually([&] { return model.references() == 0 && calls() == 0; }));
}

TEST_F(InferTest, TheClientsDeadlineIsTheRequests) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  HeldRequests held(model);
  start();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(3000));
  auto answer = infer_async("m", &context);
  int64_t left = held.wait()->times.deadline_ns - host_.clock().now_ns();
  EXPECT_LE(left, 3100 * kNsPerMs) << "the header has three digits or so, rounded up";
  EXPECT_GT(left, 0);
  EXPECT_EQ(answer.get().error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(held.wait_cancelled());
  held.answer();
  auto without = infer_async("m");
  EXPECT_EQ(held.wait()->times.deadline_ns, 0);
  held.answer();
  EXPECT_TRUE(without.get().ok());
}

TEST_F(InferTest, BytesThatAreNoMessageAreRefused) {
  catalog_.add_identity("m");
  start();
  const std::string infer_method = "/inference.GRPCInferenceService/ModelInfer";
  for (const std::string& bytes :
       {std::string("\xFF\xFF\xFF"), std::string("\x2A\x7F"), std::string(200, '\x0B')}) {
    EXPECT_EQ(call_raw(infer_method, bytes).error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(call_raw("/inference.GRPCInferenceService/ModelReady", bytes).error_code(),
              StatusCode::INTERNAL);
  }
  EXPECT_EQ(call_raw(infer_method, "").error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(infer_ok("m").ok());
}

TEST_F(InferTest, MessagesOverTheLimitAreRefusedAlsoWhenCompressed) {
  catalog_.add_identity("m");
  host_.options().set_bytes("max_message_bytes", 1 << 20);
  start();
  inference::ModelInferRequest message = request("m", (1 << 18) - 100);
  inference::ModelInferResponse response;
  EXPECT_TRUE(infer(message, &response).ok());
  message.set_raw_input_contents(0, std::string(1 << 20, '\0'));
  EXPECT_EQ(infer(message, &response).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  message.set_raw_input_contents(0, std::string(32 << 20, '\0'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  EXPECT_EQ(infer(message, &response, &context).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(infer_ok("m").ok());
}

TEST_F(InferTest, CompressedRequestsAndResponsesWork) {
  catalog_.add_identity("m");
  host_.options().set_string("response_compression", "high");
  start();
  inference::ModelInferRequest message = request("m", 20'000);
  inference::ModelInferResponse response;
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  ASSERT_TRUE(infer(message, &response, &context).ok());
  EXPECT_EQ(response.raw_output_contents(0), message.raw_input_contents(0));
}

TEST_F(InferTest, ManyClientsAtOnceEachGetTheirOwnAnswer) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  start();
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 200; ++i) {
        inference::ModelInferRequest message = request("m", i % 7 == 0 ? 5000 : 16);
        const std::string mark = std::to_string(client * 1000 + i);
        message.set_id(mark);
        message.mutable_raw_input_contents(0)->replace(0, mark.size(), mark);
        inference::ModelInferResponse response;
        if (!infer(message, &response).ok() || response.id() != mark ||
            response.raw_output_contents(0) != message.raw_input_contents(0)) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(eventually([&] { return model.references() == 0 && calls() == 0; }));
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
