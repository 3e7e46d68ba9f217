// TLS between this server and the one that has a model.
#include "frontends/http/testing/remote_fixture.h"

namespace atl::frontends::http {
namespace {

class RemoteTlsTest : public RemoteModelsTest {
 protected:
  RemoteTlsTest() {
    there_.tls.is_wanted = true;
    model_ = &there_.catalog.add_identity("m");
  }
  /// That no call reaches the model, and why.
  void expect_refused(const std::string& why) {
    expect_error(infer("m"), 503, "the server that has model 'm' has not answered: " + why);
    EXPECT_EQ(model_->statistics().inference_count, 0u);
  }

  test::FakeServedModel* model_ = nullptr;
};

TEST_F(RemoteTlsTest, CallsGoThroughAndConnectionsAreKept) {
  start_both();
  HttpClient keeps = client();  // each thread has connections of its own
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(keeps.ask(request("POST", "/v2/models/m/infer", infer_body())).body, infer_reply());
  EXPECT_EQ(there_.frontend->open_connections(), 1);
}

TEST_F(RemoteTlsTest, ItIsShownTheClientsCertificate) {
  there_.tls.mutual = true;
  start_both();
  EXPECT_EQ(infer("m").status, 200);
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
  EXPECT_EQ(host_.log().count(LogLevel::kWarning, "calls are not passed on to"), 1u);
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

TEST_F(RemoteTlsTest, OneThatDemandsAnotherCertificateOfTheClientIsUnavailable) {
  there_.tls.mutual = true;
  start_both();
  auto rules = there_.tls.rules();
  rules->client_cert.clear();
  rules->client_key.clear();
  remote_.set_tls(rules);
  const Reply reply = infer("m");
  EXPECT_EQ(reply.status, 503) << reply.body;
  EXPECT_EQ(model_->statistics().inference_count, 0u);
}

TEST_F(RemoteTlsTest, OneThatSpeaksNoTlsIsNotTalkedTo) {
  there_.tls.is_wanted = false;
  start_both();
  remote_.set_tls(there_.tls.rules());
  expect_refused("TLS: wrong version number");
}

TEST_F(RemoteTlsTest, OneThatEndsTheHandshakeIsUnavailable) {
  start();
  SaysAlways other("");
  remote_.set("lease-of-m", "m", other.server());
  remote_.set_tls(there_.tls.rules());
  expect_refused("TLS: it ended the connection instead of shaking hands");
}

TEST_F(RemoteTlsTest, AConnectionOfOtherRulesIsNotUsed) {
  start_both();
  EXPECT_EQ(infer("m").status, 200);
  auto rules = there_.tls.rules();
  rules->server_name = "another";
  remote_.set_tls(rules);
  expect_error(
      infer("m"), 503,
      "the server that has model 'm' has not answered: TLS: certificate verify failed: hostname mismatch");
  remote_.set_tls(there_.tls.rules());
  EXPECT_EQ(infer("m").status, 200);
}

TEST_F(RemoteTlsTest, RulesThatAreNoUseAreARefusal) {
  start_both();
  auto rules = there_.tls.rules();
  rules->root_cert = "nothing";
  remote_.set_tls(rules);
  const Reply reply = infer("m");
  EXPECT_EQ(reply.status, 503) << reply.body;
  EXPECT_NE(reply.body.find("root_cert: a certificate of it cannot be read"), std::string::npos)
      << reply.body;
}

}  // namespace
}  // namespace atl::frontends::http
