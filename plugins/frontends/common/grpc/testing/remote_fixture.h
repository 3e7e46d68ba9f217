/// A gRPC frontend whose calls another one in this process answers.
#pragma once

#include <memory>
#include <string>

#include "atoll/testing/fake_remote_models.h"
#include "frontends/common/grpc/testing/stream_fixture.h"
#include "frontends/common/testing/remote_server_tls.h"

namespace atl::frontends::grpc_cases {

/// A server of its own.
struct OtherServer {
  OtherServer() : host("grpc", test::FakeHost::Threads::kReal) {
    set_default_options(host.options());
    host.registry().publish<ModelCatalog>("models", catalog);
  }
  ~OtherServer() { stop(); }
  RemoteServer start() {
    if (tls.is_wanted) tls.serve(host.options());
    frontend = std::make_unique<GrpcFrontend>(host);
    EXPECT_TRUE(frontend->init().ok());
    EXPECT_TRUE(frontend->start().ok());
    return {{}, {"127.0.0.1", static_cast<uint16_t>(frontend->bound_port())}};
  }
  void stop() { frontend.reset(); }

  RemoteServerTls tls;
  test::FakeModelCatalog catalog;
  test::FakeHost host;
  std::unique_ptr<GrpcFrontend> frontend;
};

class RemoteTest : public StreamTest {
 protected:
  RemoteTest() { host_.registry().publish<RemoteModels>("pools", remote_, 0, 2); }
  ~RemoteTest() override { stop(); }

  /// A decoupled model on the other server.
  test::FakeServedModel& add_decoupled_there(const std::string& name) {
    ModelInfo info;
    info.name = name;
    info.version = 1;
    info.decoupled = true;
    return there_.catalog.add(info);
  }
  void start_both() {
    address_ = there_.start();
    if (there_.tls.is_wanted) remote_.set_tls(there_.tls.rules());
    for (const char* model : {"m", "n", "d"}) remote_.set(cat("lease-of-", model), model, address_);
    start();
  }

  /// A stream with one request, which a model of the other server keeps.
  struct HeldStream {
    explicit HeldStream(RemoteTest& test) : model(test.there_.catalog.add_identity("m")) {
      test.start_both();
      stream = test.open(&context);
      stream->Write(numbered("m", "0"));
      request = &model.at(0);
    }
    /// How it ends, when all answers are read.
    grpc::Status end() {
      Answer answer;
      while (stream->Read(&answer)) {
      }
      return stream->Finish();
    }

    HeldModel model;
    grpc::ClientContext context;
    std::unique_ptr<ClientStream> stream;
    Request* request = nullptr;
  };

  test::FakeRemoteModels remote_;
  OtherServer there_;
  RemoteServer address_;
};

}  // namespace atl::frontends::grpc_cases
