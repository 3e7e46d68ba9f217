// Certificates that are renewed while connections live, over real threads.
#include "frontends/common/tls/tls_listener.h"

#include <chrono>
#include <memory>
#include <thread>

#include "atoll/testing/fake_log.h"
#include "frontends/grpc_nghttp2/transport/serving_thread.h"
#include "frontends/grpc_nghttp2/transport/testing/echo_application.h"
#include "frontends/grpc_nghttp2/transport/testing/tls_tunnel.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class TlsListenerTest : public ::testing::Test {
 protected:
  static TlsContext context_of(const std::string& name) {
    return TlsContext::make(pem_of(TestCertificate(name))).value();
  }
  /// A client of a worker.
  struct Client {
    explicit Client(ServingThread& worker) {
      int plain[2];
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, plain), 0);
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
      http = std::make_unique<RawClient>(plain[0]);
      tunnel = std::make_unique<TlsTunnel>(plain[1], ends[1], TunnelSettings{});
      worker.adopt(ends[0]);
      http->preface();
    }
    void call(int32_t stream) {
      http->headers(stream, RawClient::call("/any"));
      http->data(stream, prefixed("over a thread"), true);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!http->answers[stream].ended && std::chrono::steady_clock::now() < end) {
        tunnel->carry();
        http->read();
      }
      EXPECT_EQ(http->answers[stream].data, prefixed("over a thread"));
    }
    std::string server() const {
      const OpensslPtr<X509> certificate(SSL_get1_peer_certificate(tunnel->ssl()));
      char name[64] = {};
      X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof name);
      return name;
    }
    std::unique_ptr<RawClient> http;
    std::unique_ptr<TlsTunnel> tunnel;
  };

  test::RecordingLog log_;
};

TEST_F(TlsListenerTest, ARenewedCertificateIsThatOfNewConnections) {
  const test::RealClock clock;
  EchoApplication echo;
  TlsListener listener(context_of("old"), clock, log_);
  TransportContext transport{clock, echo};
  transport.tls = &listener;
  ServingThread worker(transport);
  ASSERT_TRUE(worker.open().ok());
  worker.start("worker");
  Client before(worker);
  before.call(1);
  listener.renew(context_of("new"));
  Client after(worker);
  after.call(1);
  before.call(3);
  EXPECT_EQ(before.server(), "old");
  EXPECT_EQ(after.server(), "new");
  worker.close_connections();
  while (!worker.closed()) std::this_thread::yield();
  worker.stop();
  EXPECT_EQ(listener.failures(), 0u);
}

TEST_F(TlsListenerTest, FailuresAreCountedAndToldOfOnceAMinute) {
  test::FakeClock clock;
  TlsListener listener(context_of("any"), clock, log_);
  listener.note_failure("ipv4:192.0.2.1:1", "it said nothing");
  listener.note_failure("ipv4:192.0.2.1:2", "it said nothing");
  EXPECT_EQ(log_.records().size(), 1u);
  EXPECT_TRUE(log_.contains("TLS with ipv4:192.0.2.1:1 failed: it said nothing"));
  clock.advance(60 * kNsPerSecond);
  listener.note_failure("ipv4:192.0.2.1:3", "it said nothing");
  EXPECT_EQ(log_.records().size(), 2u);
  EXPECT_EQ(listener.failures(), 3u);
}

}  // namespace
}  // namespace atl::frontends::grpc_nghttp2
