/// A gRPC frontend in this process, a catalog of fake models behind it and a real gRPC client before it.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <string>

#include "atoll/runtime/listener_list.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_model_control.h"
#include "atoll/testing/option_table.h"
#include "frontends/common/testing/held_requests.h"
#include "grpc_service.grpc.pb.h"
#include "health.grpc.pb.h"

// The plugin that this is compiled for: its class as GrpcFrontend, its options as kOptions, in grpc_cases.
#include ATOLL_FRONTEND_UNDER_TEST

namespace atl::frontends::grpc_cases {

/// Gives every option its default, and the address a free port.
inline void set_default_options(test::FakeOptions& options) {
  options.set_string("address", "127.0.0.1:0");
  if (!test::apply_option_table(kOptions, {}, options).ok()) std::abort();
}

using Stub = inference::GRPCInferenceService::Stub;

class GrpcFrontendTest : public ::testing::Test {
 protected:
  GrpcFrontendTest() : host_("grpc", test::FakeHost::Threads::kReal) {
    set_default_options(host_.options());
    host_.registry().publish<ModelCatalog>("models", catalog_);
    host_.registry().publish<Listeners>("kernel", listeners_);
  }
  ~GrpcFrontendTest() override {
    stop();
    EXPECT_EQ(host_.gate().count(), 0);
    EXPECT_EQ(host_.registry().holders(), 0u);
  }

  void start() {
    frontend_ = std::make_unique<GrpcFrontend>(host_);
    Status status = frontend_->init();
    ASSERT_TRUE(status.ok()) << status.text();
    status = frontend_->start();
    ASSERT_TRUE(status.ok()) << status.text();
    stub_ = inference::GRPCInferenceService::NewStub(channel());
  }
  void stop() { frontend_.reset(); }

  int64_t calls() const { return frontend_->calls(); }
  std::string target() const { return "127.0.0.1:" + std::to_string(frontend_->bound_port()); }
  /// What the client takes in before it reads stays 64 KiB, however fast the bytes before came. Before
  /// start().
  void keep_client_window() { client_window_stays_ = true; }
  std::shared_ptr<grpc::Channel> channel() const {
    grpc::ChannelArguments arguments;
    if (client_window_stays_) arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    return grpc::CreateCustomChannel(target(), grpc::InsecureChannelCredentials(), arguments);
  }

  static inference::ModelInferRequest request(const std::string& model, size_t elements = 4) {
    inference::ModelInferRequest message;
    message.set_model_name(model);
    message.set_id("7");
    auto* input = message.add_inputs();
    input->set_name("INPUT0");
    input->set_datatype("FP32");
    input->add_shape(static_cast<int64_t>(elements));
    std::string data(elements * 4, '\0');
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 31 % 251);
    message.add_raw_input_contents(std::move(data));
    return message;
  }
  /// One inference. \param context  null: one without a deadline of its own
  grpc::Status infer(const inference::ModelInferRequest& message, inference::ModelInferResponse* response,
                     grpc::ClientContext* context = nullptr) {
    grpc::ClientContext own;
    return stub_->ModelInfer(context == nullptr ? &own : context, message, response);
  }
  grpc::Status infer_ok(const std::string& model) {
    inference::ModelInferResponse response;
    return infer(request(model), &response);
  }

  /// Sends bytes as they are to a method of any name.
  grpc::Status call_raw(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel());
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    grpc::Slice slice(bytes);
    auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    queue.Shutdown();
    EXPECT_FALSE(queue.Next(&tag, &ok));
    return status;
  }
  std::future<grpc::Status> infer_async(const std::string& model, grpc::ClientContext* context = nullptr) {
    return std::async(std::launch::async, [this, model, context] {
      inference::ModelInferResponse response;
      return infer(request(model), &response, context);
    });
  }

  test::FakeModelCatalog catalog_;
  test::FakeModelControl control_;
  runtime::ListenerList listeners_;
  test::FakeHost host_;
  std::unique_ptr<GrpcFrontend> frontend_;
  bool client_window_stays_ = false;
  std::unique_ptr<Stub> stub_;
};

inline void expect_status(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.error_code(), code);
  EXPECT_EQ(status.error_message(), text);
}

}  // namespace atl::frontends::grpc_cases
