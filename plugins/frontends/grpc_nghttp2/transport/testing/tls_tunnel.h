/// The client's end of TLS: what a client without TLS says goes through it to a server with TLS, and back.
#pragma once

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/common/tls/testing/test_certificates.h"

namespace atl::frontends::grpc_nghttp2 {

struct TunnelSettings {
  std::string protocols = std::string("\x02h2", 3);  ///< as ALPN has them; empty: none are offered
  int version = 0;                                   ///< the only one; 0: any
  std::string ciphers;                               ///< of TLS 1.2; empty: those of OpenSSL
  const TestCertificate* certificate = nullptr;
  SSL_SESSION* session = nullptr;  ///< to be resumed
};

class TlsTunnel {
 public:
  /// \param plain_fd, server_fd  become the tunnel's; do not block
  TlsTunnel(int plain_fd, int server_fd, const TunnelSettings& settings)
      : plain_fd_(plain_fd), server_fd_(server_fd), context_(SSL_CTX_new(TLS_client_method())) {
    if (settings.version != 0) {
      SSL_CTX_set_min_proto_version(context_.get(), settings.version);
      SSL_CTX_set_max_proto_version(context_.get(), settings.version);
      // Those that OpenSSL itself is reluctant to offer too.
      SSL_CTX_set_security_level(context_.get(), 0);
    }
    if (!settings.ciphers.empty()) SSL_CTX_set_cipher_list(context_.get(), settings.ciphers.c_str());
    if (settings.certificate != nullptr) {
      SSL_CTX_use_certificate(context_.get(), settings.certificate->x509());
      SSL_CTX_use_PrivateKey(context_.get(), settings.certificate->raw_key());
    }
    SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_CLIENT);
    ssl_.reset(SSL_new(context_.get()));
    if (!settings.protocols.empty()) {
      SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const uint8_t*>(settings.protocols.data()),
                          static_cast<unsigned>(settings.protocols.size()));
    }
    if (settings.session != nullptr) SSL_set_session(ssl_.get(), settings.session);
    from_server_ = BIO_new(BIO_s_mem());
    to_server_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), from_server_, to_server_);
    SSL_set_connect_state(ssl_.get());
    // It is told of what the server says when there is nothing more, not that this is the end.
    BIO_set_mem_eof_return(from_server_, -1);
  }
  TlsTunnel(const TlsTunnel&) = delete;
  TlsTunnel& operator=(const TlsTunnel&) = delete;
  ~TlsTunnel() {
    if (plain_fd_ >= 0) ::close(plain_fd_);
    if (server_fd_ >= 0) ::close(server_fd_);
  }

  /// Carries what there is. \returns whether there was anything
  bool carry() {
    bool carried = receive();
    if (drive()) carried = true;
    return send() || carried;
  }

  /// Past TLS.
  void inject(std::string_view bytes) {
    EXPECT_EQ(::send(server_fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// The socket to the server is closed.
  void hang_up() {
    ::close(server_fd_);
    server_fd_ = -1;
  }
  SSL* ssl() { return ssl_.get(); }
  bool is_open() const { return SSL_is_init_finished(ssl_.get()) == 1; }

  size_t most_sent = SIZE_MAX;  ///< bytes given to the server in one carry()
  bool takes = true;            ///< reads what the server sends
  bool hung_up = false;         ///< the server has closed its socket
  bool notified = false;        ///< and has said so before (close_notify)
  std::string failure;          ///< of OpenSSL: an alert that came, for the most part

 private:
  bool receive() {
    bool received = false;
    char buffer[65536];
    while (takes && !hung_up) {
      const ssize_t got = ::recv(server_fd_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got < 0) break;
      if (got == 0) {
        hung_up = received = true;
        break;
      }
      BIO_write(from_server_, buffer, static_cast<int>(got));
      received = true;
    }
    return received;
  }
  bool drive() {
    if (!failure.empty()) return false;
    ERR_clear_error();
    if (!is_open()) note(SSL_connect(ssl_.get()));
    if (!is_open() || plain_fd_ < 0) return false;
    bool driven = give_client();
    char buffer[65536];
    const ssize_t said = ::recv(plain_fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (said > 0) {
      EXPECT_EQ(SSL_write(ssl_.get(), buffer, static_cast<int>(said)), said);
      driven = true;
    }
    if (hung_up && !driven) {
      ::close(plain_fd_);
      plain_fd_ = -1;
    }
    return driven;
  }
  /// As much as its socket takes for sure.
  bool give_client() {
    char buffer[16384];
    for (int i = 0; i < 4; ++i) {
      const int got = SSL_read(ssl_.get(), buffer, sizeof buffer);
      if (got <= 0) {
        note(got);
        return i != 0;
      }
      EXPECT_EQ(::send(plain_fd_, buffer, static_cast<size_t>(got), MSG_NOSIGNAL), got);
    }
    return true;
  }
  void note(int result) {
    if (result > 0) return;
    const int error = SSL_get_error(ssl_.get(), result);
    if (error == SSL_ERROR_ZERO_RETURN) notified = true;
    if (error == SSL_ERROR_SSL) failure = take_openssl_error();
  }
  bool send() {
    char buffer[65536];
    size_t room = most_sent;
    bool sent = false;
    while (room != 0) {
      const int got = BIO_read(to_server_, buffer, static_cast<int>(std::min(room, sizeof buffer)));
      if (got <= 0) break;
      if (::send(server_fd_, buffer, static_cast<size_t>(got), MSG_NOSIGNAL) != got) break;
      room -= static_cast<size_t>(got);
      sent = true;
    }
    return sent;
  }

  int plain_fd_;
  int server_fd_;
  OpensslPtr<SSL_CTX> context_;
  OpensslPtr<SSL> ssl_;
  BIO* from_server_ = nullptr;
  BIO* to_server_ = nullptr;
};

}  // namespace atl::frontends::grpc_nghttp2
