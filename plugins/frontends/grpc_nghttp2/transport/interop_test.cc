// gRPC's public interoperability cases, asked by the gRPC library.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "atoll/testing/fake_host.h"
#include "frontends/grpc_nghttp2/transport/testing/interop_service.h"
#include "interop.grpc.pb.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

namespace wire = ::grpc::testing;

const int kRequestSizes[] = {27182, 8, 1828, 45904};
const int kResponseSizes[] = {31415, 9, 2653, 58979};
constexpr int kLargeRequest = 271828;
constexpr int kLargeResponse = 314159;

class InteropTest : public ::testing::Test {
 protected:
  InteropTest() {
    ServerSettings settings;
    settings.address.host = "127.0.0.1";
    settings.threads = 2;
    settings.limit = {100, 1 << 20};
    server_ = std::make_unique<Server>(transport_, std::move(settings), host_.log());
    const Result<int> port = server_->start();
    EXPECT_TRUE(port.ok()) << port.status().message();
    channel_ = ::grpc::CreateChannel(cat("127.0.0.1:", port.value()), ::grpc::InsecureChannelCredentials());
    stub_ = wire::TestService::NewStub(channel_);
  }
  ~InteropTest() override {
    channel_.reset();
    stub_.reset();
    EXPECT_TRUE(eventually([this] { return service_.counters.open_calls == 0; }));
    server_->close_listener();
    server_->close_connections();
    EXPECT_TRUE(eventually([this] { return server_->closed(); }));
    server_->stop();
  }
  template <class Condition>
  static bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  static wire::SimpleRequest large_request() {
    wire::SimpleRequest request;
    request.set_response_size(kLargeResponse);
    request.mutable_payload()->set_body(std::string(kLargeRequest, '\0'));
    return request;
  }
  static wire::StreamingOutputCallRequest outputs(std::initializer_list<int> sizes) {
    wire::StreamingOutputCallRequest request;
    for (int size : sizes) request.add_response_parameters()->set_size(size);
    return request;
  }
  static void expect_zeros(const wire::Payload& payload, int size) {
    EXPECT_EQ(payload.body(), std::string(static_cast<size_t>(size), '\0'));
  }

  test::FakeHost host_{"interop", test::FakeHost::Threads::kReal};
  const test::RealClock clock_;
  interop::InteropService service_;
  const TransportContext transport_{clock_, service_};
  std::unique_ptr<Server> server_;
  std::shared_ptr<::grpc::Channel> channel_;
  std::unique_ptr<wire::TestService::Stub> stub_;
  ::grpc::ClientContext context_;
};

TEST_F(InteropTest, EmptyUnary) {
  wire::Empty answer;
  const ::grpc::Status status = stub_->EmptyCall(&context_, wire::Empty(), &answer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(answer.ByteSizeLong(), 0u);
}

TEST_F(InteropTest, LargeUnary) {
  wire::SimpleResponse answer;
  EXPECT_TRUE(stub_->UnaryCall(&context_, large_request(), &answer).ok());
  expect_zeros(answer.payload(), kLargeResponse);
}

TEST_F(InteropTest, ClientCompressedUnary) {
  wire::SimpleRequest request = large_request();
  request.mutable_expect_compressed()->set_value(true);
  wire::SimpleResponse answer;
  EXPECT_EQ(stub_->UnaryCall(&context_, request, &answer).error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_NONE}) {
    const bool compresses = algorithm != GRPC_COMPRESS_NONE;
    ::grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    request.mutable_expect_compressed()->set_value(compresses);
    const ::grpc::Status status = stub_->UnaryCall(&context, request, &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    expect_zeros(answer.payload(), kLargeResponse);
  }
}

TEST_F(InteropTest, ServerCompressedUnary) {
  for (bool compressed : {true, false}) {
    ::grpc::ClientContext context;
    wire::SimpleRequest request = large_request();
    request.mutable_response_compressed()->set_value(compressed);
    wire::SimpleResponse answer;
    EXPECT_TRUE(stub_->UnaryCall(&context, request, &answer).ok());
    expect_zeros(answer.payload(), kLargeResponse);
    EXPECT_EQ(service_.counters.compressed_answers, 1);
  }
}

TEST_F(InteropTest, ClientStreaming) {
  wire::StreamingInputCallResponse sum;
  const auto writer = stub_->StreamingInputCall(&context_, &sum);
  for (int size : kRequestSizes) {
    wire::StreamingInputCallRequest request;
    request.mutable_payload()->set_body(std::string(static_cast<size_t>(size), '\0'));
    EXPECT_TRUE(writer->Write(request));
  }
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(sum.aggregated_payload_size(), 74922);
}

TEST_F(InteropTest, ClientCompressedStreaming) {
  wire::StreamingInputCallRequest request;
  request.mutable_expect_compressed()->set_value(true);
  request.mutable_payload()->set_body(std::string(27182, '\0'));
  wire::StreamingInputCallResponse sum;
  {
    ::grpc::ClientContext probe;
    const auto writer = stub_->StreamingInputCall(&probe, &sum);
    writer->Write(request);
    writer->WritesDone();
    EXPECT_EQ(writer->Finish().error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  }
  context_.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const auto writer = stub_->StreamingInputCall(&context_, &sum);
  EXPECT_TRUE(writer->Write(request));
  request.mutable_expect_compressed()->set_value(false);
  request.mutable_payload()->set_body(std::string(45904, '\0'));
  EXPECT_TRUE(writer->Write(request, ::grpc::WriteOptions().set_no_compression()));
  writer->WritesDone();
  const ::grpc::Status status = writer->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(sum.aggregated_payload_size(), 73086);
}

TEST_F(InteropTest, ServerStreaming) {
  const auto reader = stub_->StreamingOutputCall(&context_, outputs({31415, 9, 2653, 58979}));
  wire::StreamingOutputCallResponse answer;
  for (int size : kResponseSizes) {
    ASSERT_TRUE(reader->Read(&answer));
    expect_zeros(answer.payload(), size);
  }
  EXPECT_FALSE(reader->Read(&answer));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(InteropTest, ServerCompressedStreaming) {
  wire::StreamingOutputCallRequest request = outputs({31415, 92653});
  request.mutable_response_parameters(0)->mutable_compressed()->set_value(true);
  request.mutable_response_parameters(1)->mutable_compressed()->set_value(false);
  const auto reader = stub_->StreamingOutputCall(&context_, request);
  wire::StreamingOutputCallResponse answer;
  for (int size : {31415, 92653}) {
    ASSERT_TRUE(reader->Read(&answer));
    expect_zeros(answer.payload(), size);
  }
  EXPECT_FALSE(reader->Read(&answer));
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(service_.counters.compressed_answers, 1);
}

TEST_F(InteropTest, PingPong) {
  const auto stream = stub_->FullDuplexCall(&context_);
  wire::StreamingOutputCallResponse answer;
  for (size_t i = 0; i < std::size(kRequestSizes); ++i) {
    wire::StreamingOutputCallRequest request = outputs({kResponseSizes[i]});
    request.mutable_payload()->set_body(std::string(static_cast<size_t>(kRequestSizes[i]), '\0'));
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&answer));
    expect_zeros(answer.payload(), kResponseSizes[i]);
  }
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(InteropTest, EmptyStream) {
  const auto stream = stub_->FullDuplexCall(&context_);
  stream->WritesDone();
  wire::StreamingOutputCallResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(InteropTest, CustomMetadata) {
  const std::string bytes("\xab\xab\xab\0\xff", 5);
  auto expect_echo = [&](const ::grpc::ClientContext& context) {
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto text = trailers.find("x-grpc-test-echo-initial");
    ASSERT_NE(text, trailers.end());
    EXPECT_EQ(text->second, "test_initial_metadata_value");
    const auto binary = trailers.find("x-grpc-test-echo-trailing-bin");
    ASSERT_NE(binary, trailers.end());
    EXPECT_EQ(std::string(binary->second.data(), binary->second.size()), bytes);
  };
  auto add = [&](::grpc::ClientContext& context) {
    context.AddMetadata("x-grpc-test-echo-initial", "test_initial_metadata_value");
    context.AddMetadata("x-grpc-test-echo-trailing-bin", bytes);
  };
  add(context_);
  wire::SimpleResponse answer;
  EXPECT_TRUE(stub_->UnaryCall(&context_, large_request(), &answer).ok());
  expect_echo(context_);
  ::grpc::ClientContext context;
  add(context);
  const auto stream = stub_->FullDuplexCall(&context);
  wire::StreamingOutputCallResponse output;
  EXPECT_TRUE(stream->Write(outputs({kLargeResponse})));
  stream->WritesDone();
  EXPECT_TRUE(stream->Read(&output));
  EXPECT_FALSE(stream->Read(&output));
  EXPECT_TRUE(stream->Finish().ok());
  expect_echo(context);
}

TEST_F(InteropTest, StatusCodeAndMessage) {
  for (const char* text : {"test status message",
                           "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n"}) {
    ::grpc::ClientContext context;
    wire::SimpleRequest request;
    request.mutable_response_status()->set_code(2);
    request.mutable_response_status()->set_message(text);
    wire::SimpleResponse answer;
    const ::grpc::Status status = stub_->UnaryCall(&context, request, &answer);
    EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNKNOWN);
    EXPECT_EQ(status.error_message(), text);
    ::grpc::ClientContext duplex;
    const auto stream = stub_->FullDuplexCall(&duplex);
    wire::StreamingOutputCallRequest output;
    *output.mutable_response_status() = request.response_status();
    EXPECT_TRUE(stream->Write(output));
    stream->WritesDone();
    wire::StreamingOutputCallResponse none;
    EXPECT_FALSE(stream->Read(&none));
    const ::grpc::Status end = stream->Finish();
    EXPECT_EQ(end.error_code(), ::grpc::StatusCode::UNKNOWN);
    EXPECT_EQ(end.error_message(), text);
  }
}

TEST_F(InteropTest, UnimplementedMethodAndService) {
  wire::Empty answer;
  EXPECT_EQ(stub_->UnimplementedCall(&context_, wire::Empty(), &answer).error_code(),
            ::grpc::StatusCode::UNIMPLEMENTED);
  ::grpc::ClientContext context;
  EXPECT_EQ(wire::UnimplementedService::NewStub(channel_)
                ->UnimplementedCall(&context, wire::Empty(), &answer)
                .error_code(),
            ::grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(InteropTest, CancelAfterBegin) {
  wire::StreamingInputCallResponse sum;
  const auto writer = stub_->StreamingInputCall(&context_, &sum);
  EXPECT_TRUE(eventually([this] { return service_.counters.open_calls == 1; }));
  context_.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), ::grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(eventually([this] { return service_.counters.gone_calls == 1; }));
}

TEST_F(InteropTest, CancelAfterFirstResponse) {
  const auto stream = stub_->FullDuplexCall(&context_);
  wire::StreamingOutputCallRequest request = outputs({31415});
  request.mutable_payload()->set_body(std::string(27182, '\0'));
  EXPECT_TRUE(stream->Write(request));
  wire::StreamingOutputCallResponse answer;
  EXPECT_TRUE(stream->Read(&answer));
  context_.TryCancel();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(eventually([this] { return service_.counters.gone_calls == 1; }));
}

TEST_F(InteropTest, TimeoutOnSleepingServer) {
  context_.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  const auto stream = stub_->FullDuplexCall(&context_);
  wire::StreamingOutputCallRequest request = outputs({31415});
  request.mutable_response_parameters(0)->set_interval_us(1'800'000'000);
  request.mutable_payload()->set_body(std::string(27182, '\0'));
  stream->Write(request);
  wire::StreamingOutputCallResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(InteropTest, AnswersMayTakeTheirTime) {
  wire::StreamingOutputCallRequest request = outputs({1, 2});
  for (auto& one : *request.mutable_response_parameters()) one.set_interval_us(1000);
  const auto reader = stub_->StreamingOutputCall(&context_, request);
  wire::StreamingOutputCallResponse answer;
  for (int size : {1, 2}) {
    ASSERT_TRUE(reader->Read(&answer));
    expect_zeros(answer.payload(), size);
  }
  EXPECT_FALSE(reader->Read(&answer));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(InteropTest, ConcurrentLargeUnary) {
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        ::grpc::ClientContext context;
        wire::SimpleResponse answer;
        const ::grpc::Status status = stub_->UnaryCall(&context, large_request(), &answer);
        if (status.ok() && answer.payload().body().size() == kLargeResponse) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 160);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
