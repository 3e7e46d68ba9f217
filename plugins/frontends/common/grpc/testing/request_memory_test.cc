// Messages, tensors and answers count as memory of requests; what is over the limit is refused, and
// everything is given back.
#include <gmock/gmock.h>

#include "atoll/testing/fake_request_memory.h"
#include "frontends/common/grpc/testing/generic_client.h"

namespace atl::frontends::grpc_cases {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMib = size_t{1} << 20;

class RequestMemoryTest : public GrpcFrontendTest {
 protected:
  RequestMemoryTest() {
    host_.registry().publish<RequestMemory>("host", memory_);
    catalog_.add_identity("m");
  }
  ~RequestMemoryTest() override {
    EXPECT_TRUE(eventually([this] { return memory_.used_bytes() == 0; }));
    stop();
  }

  grpc::Status infer_of(size_t bytes, bool compressed = false) {
    grpc::ClientContext context;
    if (compressed) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    inference::ModelInferResponse response;
    return infer(request("m", bytes / 4), &response, &context);
  }
  static void expect_refused(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr(test::FakeRequestMemory::kSetting));
  }

  test::FakeRequestMemory memory_;
};

TEST_F(RequestMemoryTest, CountsMessageAndAnswer) {
  start();
  ASSERT_TRUE(infer_of(kMib).ok());
  EXPECT_GE(memory_.peak_bytes(), 2 * kMib);
  EXPECT_LE(memory_.peak_bytes(), 2 * kMib + 64 * 1024);
}

TEST_F(RequestMemoryTest, MessagesOverTheLimitAreRefused) {
  memory_.set_limit(kMib);
  start();
  expect_refused(infer_of(kMib));
  EXPECT_TRUE(infer_of(kMib / 4).ok());
  expect_refused(infer_of(kMib / 4 * 3));  // the answer does not fit
}

TEST_F(RequestMemoryTest, WhatIsOpenedCountsBeforeItIsTaken) {
  memory_.set_limit(4 * kMib);
  start();
  EXPECT_TRUE(infer_of(kMib / 2, true).ok());
  expect_refused(infer_of(16 * kMib, true));
  EXPECT_LE(memory_.peak_bytes(), 4 * kMib);
  EXPECT_GE(memory_.peak_bytes(), 2 * kMib);
}

TEST_F(RequestMemoryTest, TypedContentsCountAsTensors) {
  memory_.set_limit(kMib);
  start();
  inference::ModelInferRequest message = request("m", 0);
  message.clear_raw_input_contents();
  auto* input = message.mutable_inputs(0);
  input->set_shape(0, 150'000);
  for (int i = 0; i < 150'000; ++i) input->mutable_contents()->add_fp32_contents(1);
  inference::ModelInferResponse response;
  expect_refused(infer(message, &response));
  EXPECT_GE(memory_.peak_bytes(), kMib / 2);
}

TEST_F(RequestMemoryTest, HealthAndMetadataAreAnsweredWhenNothingIsLeft) {
  memory_.set_limit(1);
  start();
  expect_refused(infer_of(4));
  grpc::ClientContext ready_context;
  inference::ServerReadyResponse ready;
  EXPECT_TRUE(stub_->ServerReady(&ready_context, {}, &ready).ok());
  grpc::ClientContext metadata_context;
  inference::ServerMetadataResponse metadata;
  EXPECT_TRUE(stub_->ServerMetadata(&metadata_context, {}, &metadata).ok());
}

TEST_F(RequestMemoryTest, LoadsThatBringFilesCount) {
  memory_.set_limit(kMib);
  host_.registry().publish<ModelControl>("control", control_);
  start();
  inference::RepositoryModelLoadRequest load;
  load.set_model_name("m");
  (*load.mutable_parameters())["file:1/model.onnx"].set_bytes_param(std::string(kMib, 'x'));
  grpc::ClientContext context;
  inference::RepositoryModelLoadResponse response;
  expect_refused(stub_->RepositoryModelLoad(&context, load, &response));
}

TEST_F(RequestMemoryTest, AnswersOfManagementCallsCountWhileTheyWait) {
  constexpr const char* kIndex = "/inference.GRPCInferenceService/RepositoryIndex";
  constexpr size_t kModels = 2000, kNameBytes = 200;
  for (size_t i = 0; i < kModels; ++i) {
    const std::string number = std::to_string(i);
    catalog_.add_identity(number + std::string(kNameBytes - number.size(), 'x'));
  }
  keep_client_window();
  start();
  {
    GenericClient client(channel(), kIndex);
    client.send("");
    EXPECT_TRUE(eventually([this] { return memory_.used_bytes() >= kModels * kNameBytes; }));
    EXPECT_GE(client.read().value_or("").size(), kModels * kNameBytes);
    EXPECT_TRUE(client.finish().ok());
  }
  EXPECT_TRUE(eventually([this] { return memory_.used_bytes() == 0; }));
  {
    GenericClient goes(channel(), kIndex);
    goes.send("");
    EXPECT_TRUE(eventually([this] { return memory_.used_bytes() != 0; }));
  }
  EXPECT_TRUE(eventually([this] { return memory_.used_bytes() == 0; }));
  memory_.set_limit(kModels * kNameBytes);
  GenericClient refused(channel(), kIndex);
  refused.send("");
  expect_refused(refused.finish());
  EXPECT_EQ(refused.trailer("retry-after"), "1");
}

TEST_F(RequestMemoryTest, AStreamRefusesTheRequestAndGoesOn) {
  memory_.set_limit(kMib);
  start();
  grpc::ClientContext context;
  auto stream = stub_->ModelStreamInfer(&context);
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Write(request("m", kMib / 4)));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_THAT(answer.error_message(), HasSubstr(test::FakeRequestMemory::kSetting));
  EXPECT_EQ(answer.infer_response().id(), "7");
  ASSERT_TRUE(stream->Write(request("m")));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
