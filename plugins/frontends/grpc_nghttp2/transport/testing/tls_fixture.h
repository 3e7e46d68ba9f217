/// A connection with TLS on a loop that the test turns.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "atoll/testing/fake_log.h"
#include "frontends/common/tls/tls_listener.h"
#include "frontends/grpc_nghttp2/transport/testing/tls_tunnel.h"
#include "frontends/grpc_nghttp2/transport/testing/transport_fixture.h"

namespace atl::frontends::grpc_nghttp2 {

class TlsTransportTest : public TransportTest {
 protected:
  TlsTransportTest() { serve(pem_of(server_)); }
  ~TlsTransportTest() override {
    if (connection_ != nullptr) on_closed(*connection_);
  }

  void serve(const TlsPem& pem) {
    Result<TlsContext> context = TlsContext::make(pem);
    ASSERT_TRUE(context.ok()) << context.status().text();
    tls_context_.emplace(std::move(context).value());
  }
  /// Connections that come demand a certificate that the authority has signed.
  void serve_mutual() {
    TlsPem pem = pem_of(server_);
    pem.root_cert = authority_.cert();
    pem.mutual = true;
    serve(pem);
  }
  void connect(int socket_bytes = 0) override {
    int plain[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, plain), 0);
    client_ = std::make_unique<RawClient>(plain[0]);
    tunnel_ = std::make_unique<TlsTunnel>(plain[1], begin(socket_bytes), tunnel_settings_);
  }
  /// Only the server's side. \returns the socket of the client
  int begin(int socket_bytes = 0) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    if (socket_bytes != 0) setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &socket_bytes, sizeof socket_bytes);
    connection_ = new Connection(ends[0], context_, receive_, connection_settings_, *this,
                                 TlsChannel::make(ends[0], tls_context_->accept(), tls_thread_));
    connection_->start();
    return ends[1];
  }
  bool carry() override { return tunnel_ != nullptr && tunnel_->carry(); }

  const TestCertificate authority_{"authority"};
  const TestCertificate server_{"server", &authority_};
  std::optional<TlsContext> tls_context_;
  TlsThread tls_thread_{loop_};
  TunnelSettings tunnel_settings_;
  std::unique_ptr<TlsTunnel> tunnel_;
};

}  // namespace atl::frontends::grpc_nghttp2
