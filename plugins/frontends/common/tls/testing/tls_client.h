/// A client's end of TLS, as far as clients of plain sockets need it.
#pragma once

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <mutex>
#include <string_view>

#include "frontends/common/tls/tls_context.h"

namespace atl::frontends {

/// Shakes hands when it first says or hears something. Takes any server for the right one. One thread may send while another
/// one receives.
class TlsClient {
 public:
  /// \param fd  stays another's, and blocks no more
  explicit TlsClient(int fd) : fd_(fd), context_(SSL_CTX_new(TLS_client_method())) {
    (void)std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets as to files
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), fd);
    SSL_set_connect_state(ssl_.get());
  }

  /// False: the server has gone.
  bool send(std::string_view bytes) {
    size_t sent = 0;
    auto write = [&](SSL* ssl) { return SSL_write_ex(ssl, bytes.data(), bytes.size(), &sent); };
    return bytes.empty() || run(write, -1) == Outcome::kDone;
  }
  /// \returns bytes; 0: the end, -1: none within the time, which is that between two messages of TLS
  ssize_t receive(char* to, size_t size, int timeout_ms) {
    size_t got = 0;
    switch (run([&](SSL* ssl) { return SSL_read_ex(ssl, to, size, &got); }, timeout_ms)) {
      case Outcome::kDone:
        return static_cast<ssize_t>(got);
      case Outcome::kLate:
        return -1;
      default:
        return 0;
    }
  }
  /// The server sees that nothing more comes.
  void end() {
    const std::lock_guard lock(mutex_);
    (void)SSL_shutdown(ssl_.get());
  }

 private:
  enum class Outcome { kDone, kLate, kEnded };

  template <class Function>
  Outcome run(Function function, int timeout_ms) {
    for (;;) {
      pollfd wanted{fd_, 0, 0};
      {
        const std::lock_guard lock(mutex_);
        // One thread has the whole handshake: another one would wait for what this one has read.
        while (SSL_in_init(ssl_.get()) == 1) {
          ERR_clear_error();
          const int result = SSL_do_handshake(ssl_.get());
          if (result == 1) break;
          if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) return Outcome::kEnded;
          wanted.events = POLLIN;
          if (poll(&wanted, 1, timeout_ms) != 1) return Outcome::kLate;
        }
        ERR_clear_error();
        const int result = function(ssl_.get());
        if (result == 1) return Outcome::kDone;
        const int error = SSL_get_error(ssl_.get(), result);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return Outcome::kEnded;
        wanted.events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
      }
      if (poll(&wanted, 1, timeout_ms) != 1) return Outcome::kLate;
    }
  }

  const int fd_;
  std::mutex mutex_;
  OpensslPtr<SSL_CTX> context_;
  OpensslPtr<SSL> ssl_;
};

}  // namespace atl::frontends
