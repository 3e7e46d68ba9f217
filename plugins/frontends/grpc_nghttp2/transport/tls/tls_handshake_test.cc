// How connections with TLS begin, and who is refused.
#include "frontends/grpc_nghttp2/transport/testing/tls_fixture.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class TlsHandshakeTest : public TlsTransportTest {
 protected:
  void expect_served() {
    open();
    EXPECT_EQ(call(1, "/s/echo", "over TLS").data, prefixed("over TLS"));
    EXPECT_TRUE(tls_failures_.empty());
  }
  /// \param alert  what the client is told; empty: nothing
  /// \param why    what is noted of it
  void expect_refused(const std::string& alert, const std::string& why) {
    connect();
    turn();
    EXPECT_EQ(connection_, nullptr);
    EXPECT_EQ(tunnel_->failure, alert);
    ASSERT_EQ(tls_failures_.size(), 1u);
    EXPECT_EQ(tls_failures_.front(), why);
  }
  /// The client's first words of TLS.
  static std::string client_hello() {
    const OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
    const OpensslPtr<SSL> ssl(SSL_new(context.get()));
    BIO* out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
    SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const uint8_t*>("\x02h2"), 3);
    EXPECT_EQ(SSL_connect(ssl.get()), -1);
    char bytes[4096];
    const int size = BIO_read(out, bytes, sizeof bytes);
    return {bytes, static_cast<size_t>(size)};
  }
};

TEST_F(TlsHandshakeTest, BothVersionsServe) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    tunnel_settings_.version = version;
    expect_served();
    EXPECT_EQ(SSL_version(tunnel_->ssl()), version);
    on_closed(*connection_);
  }
}

TEST_F(TlsHandshakeTest, ItMayComeInPieces) {
  for (const size_t bytes : {size_t{1}, size_t{7}, size_t{100}}) {
    connect();
    tunnel_->most_sent = bytes;
    client_->preface();
    turn();
    EXPECT_EQ(call(1, "/s/echo", "piece by piece").data, prefixed("piece by piece"));
    on_closed(*connection_);
  }
}

TEST_F(TlsHandshakeTest, ItsEndAndTheFirstCallMayComeTogether) {
  connect();
  client_->preface();
  client_->headers(1, RawClient::call("/s/echo"));
  client_->data(1, prefixed("at once"), true);
  turn();
  EXPECT_EQ(answer(1).data, prefixed("at once"));
}

TEST_F(TlsHandshakeTest, H2IsTakenFromWhatIsOffered) {
  tunnel_settings_.protocols = "\x08http/1.1\x02h2";
  expect_served();
  const unsigned char* selected = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(tunnel_->ssl(), &selected, &size);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(selected), size), "h2");
}

TEST_F(TlsHandshakeTest, ClientsOfOtherProtocolsAreTold) {
  tunnel_settings_.protocols = "\x08http/1.1";
  expect_refused("tlsv1 alert no application protocol", "no application protocol");
}

TEST_F(TlsHandshakeTest, ClientsThatOfferNoProtocolAreTold) {
  tunnel_settings_.protocols.clear();
  expect_refused("tlsv1 alert no application protocol", "callback failed");
}

TEST_F(TlsHandshakeTest, OldVersionsAreTold) {
  tunnel_settings_.version = TLS1_1_VERSION;
  expect_refused("tlsv1 alert protocol version", "unsupported protocol");
}

TEST_F(TlsHandshakeTest, ForbiddenCiphersAreNotShared) {
  tunnel_settings_.version = TLS1_2_VERSION;
  tunnel_settings_.ciphers = "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-CCM:AES128-GCM-SHA256";
  expect_refused("sslv3 alert handshake failure", "no shared cipher");
}

TEST_F(TlsHandshakeTest, WithoutTlsAClientIsClosed) {
  RawClient client(begin());
  client.preface();
  loop_.turn(0);
  client.read();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_TRUE(client.closed);
  EXPECT_EQ(tls_failures_.size(), 1u);
}

TEST_F(TlsHandshakeTest, GarbageIsClosed) {
  const int fd = begin();
  const std::string garbage(100'000, '\x16');
  EXPECT_GT(::send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
  loop_.turn(0);
  EXPECT_EQ(connection_, nullptr);
  EXPECT_EQ(tls_failures_.size(), 1u);
  ::close(fd);
}

TEST_F(TlsHandshakeTest, ALargeHelloIsRefusedWhenItsLengthHasCome) {
  for (const std::string& head : {std::string("\x16\x03\x01\x40\x00\x01\x00\x40\x01", 9),
                                  std::string("\x16\x03\x01\x00\x03\x01\x00\x40\x16", 9)}) {
    tls_failures_.clear();
    const int fd = begin();
    for (const char byte : head) {
      EXPECT_NE(connection_, nullptr);
      EXPECT_EQ(::send(fd, &byte, 1, MSG_NOSIGNAL), 1);
      loop_.turn(0);
    }
    EXPECT_EQ(connection_, nullptr);
    ASSERT_EQ(tls_failures_.size(), 1u);
    EXPECT_EQ(tls_failures_.front(), "the first message is too large");
    ::close(fd);
  }
}

TEST_F(TlsHandshakeTest, AClientThatHangsUpIsNoFailure) {
  for (const std::string& said : {std::string(), client_hello().substr(0, 20)}) {
    const int fd = begin();
    EXPECT_EQ(::send(fd, said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    loop_.turn(0);
    EXPECT_NE(connection_, nullptr);
    ::close(fd);
    loop_.turn(0);
    EXPECT_EQ(connection_, nullptr);
    EXPECT_TRUE(tls_failures_.empty());
  }
}

TEST_F(TlsHandshakeTest, ItHasItsTimeTogetherWithThePreface) {
  const std::string hello = client_hello();
  const int fd = begin();
  EXPECT_GT(::send(fd, hello.data(), hello.size() / 2, MSG_NOSIGNAL), 0);
  loop_.turn(0);
  clock_.advance(connection_settings_.header_timeout_ns - 1);
  loop_.turn(0);
  EXPECT_NE(connection_, nullptr);
  clock_.advance(1);
  loop_.turn(0);
  EXPECT_EQ(connection_, nullptr);
  ::close(fd);

  connect();
  turn();
  EXPECT_TRUE(tunnel_->is_open());
  clock_.advance(connection_settings_.header_timeout_ns);
  turn();
  EXPECT_EQ(connection_, nullptr);
}

TEST_F(TlsHandshakeTest, OneIsAnsweredInATurnOfTheLoop) {
  const std::string hello = client_hello();
  std::vector<std::pair<int, Connection*>> clients;
  for (int i = 0; i < 3; ++i) {
    const int fd = begin();
    EXPECT_EQ(::send(fd, hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
    clients.emplace_back(fd, connection_);
  }
  for (int turns = 1; turns <= 3; ++turns) {
    loop_.turn(0);
    int answered = 0;
    for (const auto& [fd, connection] : clients) {
      char byte = 0;
      answered += ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 ? 1 : 0;
    }
    EXPECT_EQ(answered, turns);
  }
  for (const auto& [fd, connection] : clients) ::close(fd);
  // Each learns of that in its turn.
  for (int turns = 0; turns < 3; ++turns) loop_.turn(0);
}

TEST_F(TlsHandshakeTest, NothingIsRenegotiated) {
  tunnel_settings_.version = TLS1_2_VERSION;
  expect_served();
  SSL_renegotiate(tunnel_->ssl());
  SSL_do_handshake(tunnel_->ssl());
  turn();
  // OpenSSL's client takes the refusal (the alert no_renegotiation) as the end.
  EXPECT_EQ(tunnel_->failure, "no renegotiation");
  EXPECT_EQ(SSL_num_renegotiations(tunnel_->ssl()), 1);
}

TEST_F(TlsHandshakeTest, AClientsCertificateIsDemandedAndVerified) {
  serve_mutual();
  const TestCertificate client("client", &authority_);
  tunnel_settings_.certificate = &client;
  expect_served();
  on_closed(*connection_);

  const TestCertificate expired("expired", &authority_, -1);
  tunnel_settings_.certificate = &expired;
  expect_refused("sslv3 alert certificate expired", "certificate verify failed: certificate has expired");
  tls_failures_.clear();
  const TestCertificate other("another authority");
  const TestCertificate stranger("stranger", &other);
  tunnel_settings_.certificate = &stranger;
  expect_refused("tlsv1 alert unknown ca",
                 "certificate verify failed: unable to get local issuer certificate");
  tls_failures_.clear();
  tunnel_settings_.certificate = nullptr;
  expect_refused("tlsv13 alert certificate required", "peer did not return a certificate");
}

TEST_F(TlsHandshakeTest, ACertificateThatIsNamedIsTrustedItself) {
  const TestCertificate client("client", &authority_);
  TlsPem pem = pem_of(server_);
  pem.root_cert = client.cert();
  pem.mutual = true;
  serve(pem);
  tunnel_settings_.certificate = &client;
  expect_served();
}

TEST_F(TlsHandshakeTest, SessionsAreResumedUntilTheCertificateIsRenewed) {
  const TestCertificate client("client", &authority_);
  tunnel_settings_.certificate = &client;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    serve_mutual();
    tunnel_settings_.version = version;
    tunnel_settings_.session = nullptr;
    expect_served();
    // One of its own: OpenSSL spoils that of a connection which ends in another way than it should.
    SSL_SESSION* session = SSL_SESSION_dup(SSL_get0_session(tunnel_->ssl()));
    tunnel_settings_.session = session;
    on_closed(*connection_);
    expect_served();
    EXPECT_EQ(SSL_session_reused(tunnel_->ssl()), 1);
    on_closed(*connection_);
    serve_mutual();
    expect_served();
    EXPECT_EQ(SSL_session_reused(tunnel_->ssl()), 0);
    on_closed(*connection_);
    SSL_SESSION_free(session);
  }
}

// The other way round.
using PlainHandshakeTest = TransportTest;

TEST_F(PlainHandshakeTest, AClientWithTlsIsClosedWhereThereIsNone) {
  connect();
  client_->send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(506, 'r'));
  turn();
  EXPECT_EQ(connection_, nullptr);
  EXPECT_TRUE(client_->closed);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
