// TLS between this server and the one that has a model.
#include "frontends/common/grpc/testing/remote_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

class RemoteTlsTest : public RemoteTest {
 protected:
  RemoteTlsTest() {
    there_.tls.is_wanted = true;
    model_ = &there_.catalog.add_identity("m");
  }
  /// That no call reaches the model, and why. The gRPC library has words of its own.
  void expect_refused(const std::string& why) {
    const grpc::Status status = infer_ok("m");
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_TRUE(kIsGrpcLibrary || status.error_message().find(why) != std::string::npos)
        << status.error_message();
    EXPECT_EQ(model_->statistics().inference_count, 0u);
  }

  test::FakeServedModel* model_ = nullptr;
};

TEST_F(RemoteTlsTest, CallsGoThrough) {
  start_both();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(infer_ok("m").ok());
  EXPECT_EQ(model_->statistics().inference_count, 5u);
}

TEST_F(RemoteTlsTest, ItIsShownTheClientsCertificate) {
  there_.tls.mutual = true;
  start_both();
  EXPECT_TRUE(infer_ok("m").ok());
}

TEST_F(RemoteTlsTest, AServerOfAnotherAuthorityIsNotTalkedTo) {
  start_both();
  auto rules = there_.tls.rules();
  rules->root_cert = TestCertificate("authority").cert();
  remote_.set_tls(rules);
  expect_refused("TLS: certificate verify failed: certificate signature failure");
}

TEST_F(RemoteTlsTest, ACertificateThatHasExpiredIsRefusedAndLoggedOnce) {
  there_.tls.server = TestCertificate("server", &there_.tls.authority, -1);
  start_both();
  for (int i = 0; i < 3; ++i) expect_refused("TLS: certificate verify failed: certificate has expired");
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, "calls are not passed on to"), kIsGrpcLibrary ? 0u : 1u);
}

TEST_F(RemoteTlsTest, ACertificateForAnotherNameIsRefused) {
  start_both();
  auto rules = there_.tls.rules();
  rules->server_name = "another";
  remote_.set_tls(rules);
  expect_refused("TLS: certificate verify failed: hostname mismatch");
  rules = there_.tls.rules();
  rules->server_name.clear();
  remote_.set_tls(rules);
  expect_refused("TLS: certificate verify failed: IP address mismatch");
}

TEST_F(RemoteTlsTest, OneThatDemandsACertificateOfTheClientIsUnavailable) {
  there_.tls.mutual = true;
  start_both();
  auto rules = there_.tls.rules();
  rules->client_cert.clear();
  rules->client_key.clear();
  remote_.set_tls(rules);
  expect_refused("127.0.0.1");
}

TEST_F(RemoteTlsTest, OneThatSpeaksNoTlsIsNotTalkedTo) {
  there_.tls.is_wanted = false;
  start_both();
  remote_.set_tls(there_.tls.rules());
  expect_refused("TLS: ");
}

TEST_F(RemoteTlsTest, AConnectionOfOtherRulesIsNotUsed) {
  start_both();
  EXPECT_TRUE(infer_ok("m").ok());
  auto rules = there_.tls.rules();
  rules->server_name = "another";
  remote_.set_tls(rules);
  EXPECT_EQ(infer_ok("m").error_code(), StatusCode::UNAVAILABLE);
  remote_.set_tls(there_.tls.rules());
  EXPECT_TRUE(infer_ok("m").ok());
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
