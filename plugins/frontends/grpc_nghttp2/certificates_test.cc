// TLS of the whole frontend with gRPC's client, and certificates that are renewed while it serves.
#include <fstream>
#include <memory>
#include <string>

#include "atoll/core/events.h"
#include "atoll/testing/temporary_directory.h"
#include "frontends/common/grpc/testing/frontend_fixture.h"
#include "frontends/common/tls/testing/test_certificates.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class CertificatesTest : public grpc_cases::GrpcFrontendTest {
 protected:
  CertificatesTest() {
    catalog_.add_identity("m");
    host_.options()
        .set_bool("use_ssl", true)
        .set_string("server_cert", path("server.crt"))
        .set_string("server_key", path("server.key"));
    install(old_);
  }
  ~CertificatesTest() override { stop(); }

  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }
  void write(const std::string& name, const std::string& content) { std::ofstream(path(name)) << content; }
  void install(const TestCertificate& server) {
    write("server.crt", server.cert());
    write("server.key", server.key());
  }
  /// What the kernel says when it has applied the manifest.
  void reload() {
    ServerStateChanged event;
    event.state = ServerStateChanged::State::kActive;
    event.generation = ++generation_;
    host_.events().publish(event);
    host_.events().deliver();
  }
  /// A client that trusts one server; connections of it are its own.
  std::unique_ptr<grpc_cases::Stub> client(const TestCertificate& trusted,
                                           const TestCertificate* own = nullptr) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = trusted.cert();
    if (own != nullptr) {
      options.pem_cert_chain = own->cert();
      options.pem_private_key = own->key();
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride("server");
    return inference::GRPCInferenceService::NewStub(
        grpc::CreateCustomChannel(target(), grpc::SslCredentials(options), arguments));
  }
  static grpc::StatusCode infer_over(grpc_cases::Stub& stub) {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    return stub.ModelInfer(&context, request("m"), &response).error_code();
  }

  test::TemporaryDirectory directory_;
  const TestCertificate old_{"server"};
  const TestCertificate new_{"server"};
  uint64_t generation_ = 0;
};

TEST_F(CertificatesTest, ANewCertificateIsThatOfNewConnections) {
  start();
  EXPECT_TRUE(host_.log().contains("TLS with the certificate of 'CN=server', valid until 20"));
  const auto before = client(old_);
  EXPECT_EQ(infer_over(*before), grpc::StatusCode::OK);
  EXPECT_EQ(infer_over(*client(new_)), grpc::StatusCode::UNAVAILABLE);
  install(new_);
  EXPECT_EQ(infer_over(*client(old_)), grpc::StatusCode::OK) << "nobody has asked for the new one";
  reload();
  EXPECT_TRUE(host_.log().contains("TLS files were read again"));
  EXPECT_EQ(infer_over(*client(new_)), grpc::StatusCode::OK);
  EXPECT_EQ(infer_over(*client(old_)), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(infer_over(*before), grpc::StatusCode::OK) << "its connection is the one it had";
}

TEST_F(CertificatesTest, AReloadWithoutNewFilesIsSilent) {
  start();
  reload();
  reload();
  EXPECT_FALSE(host_.log().contains("TLS files"));
}

TEST_F(CertificatesTest, WhatIsNoUseIsRefusedAndTheOldOneServes) {
  start();
  auto refuse = [this](const std::string& why) {
    reload();
    EXPECT_TRUE(host_.log().contains("the TLS files are not taken, those read before go on serving: " + why))
        << why;
    EXPECT_EQ(infer_over(*client(old_)), grpc::StatusCode::OK);
  };
  write("server.key", new_.key());
  refuse("server_key: it is not the certificate's");
  write("server.key", "");
  refuse(
      cat("option 'server_key' names '", path("server.key"), "', expected a readable PEM file: it has no "));
  install(TestCertificate("server", nullptr, -1));
  refuse("it was valid until 20");
  install(new_);
  reload();
  EXPECT_EQ(infer_over(*client(new_)), grpc::StatusCode::OK);
}

TEST_F(CertificatesTest, AnExpiredCertificateServesWithAWarning) {
  install(TestCertificate("server", nullptr, -1));
  start();
  EXPECT_TRUE(host_.log().contains(
      cat("clients will refuse the certificate of '", path("server.crt"), "': it was valid until 20")));
}

TEST_F(CertificatesTest, TheAuthorityOfClientsIsRenewedToo) {
  write("root.crt", old_.cert());
  host_.options().set_bool("use_ssl_mutual", true).set_string("root_cert", path("root.crt"));
  start();
  const auto before = client(old_, &old_);
  EXPECT_EQ(infer_over(*before), grpc::StatusCode::OK);
  EXPECT_EQ(infer_over(*client(old_, &new_)), grpc::StatusCode::UNAVAILABLE);
  write("root.crt", new_.cert());
  reload();
  EXPECT_EQ(infer_over(*client(old_, &new_)), grpc::StatusCode::OK);
  EXPECT_EQ(infer_over(*client(old_, &old_)), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(infer_over(*before), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
