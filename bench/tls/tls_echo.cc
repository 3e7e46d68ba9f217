// The least that a server of HTTP with TLS can cost: one thread, one epoll loop, OpenSSL on the socket. It separates requests
// by their heads and lengths, looks at nothing else, and answers each with the bytes of a file.
//
//     tls_echo CERTIFICATE KEY ANSWER
//
// Prints `plain 127.0.0.1:N` and `tls 127.0.0.1:N`.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "content_length.h"

namespace {

constexpr size_t kMostRequestBytes = size_t{64} << 10;

struct FreeSsl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
};

/// The bytes of one client.
class Connection {
 public:
  /// \param tls  null: plain text
  Connection(int socket, SSL_CTX* tls) : socket_(socket), ssl_(tls == nullptr ? nullptr : SSL_new(tls)) {
    if (ssl_ == nullptr) return;
    SSL_set_fd(ssl_.get(), socket_);
    SSL_set_accept_state(ssl_.get());
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(socket_); }

  /// Reads what is there and answers each whole request. \returns false: the connection is over
  bool serve(std::string_view answer) {
    do {
      const ssize_t got = read();
      if (got <= 0) return got == 0;
      used_ += static_cast<size_t>(got);
      while (const size_t request = whole_request()) {
        if (!write(answer)) return false;
        std::memmove(received_.data(), received_.data() + request, used_ - request);
        used_ -= request;
      }
      if (used_ == received_.size()) return false;
    } while (ssl_ != nullptr && SSL_has_pending(ssl_.get()) == 1);
    return true;
  }

 private:
  /// \returns 0: nothing is there; -1: the connection is over
  ssize_t read() {
    char* room = received_.data() + used_;
    const size_t size = received_.size() - used_;
    if (ssl_ == nullptr) {
      const ssize_t got = recv(socket_, room, size, 0);
      return got > 0 ? got : (got < 0 && errno == EAGAIN ? 0 : -1);
    }
    ERR_clear_error();
    size_t got = 0;
    if (SSL_read_ex(ssl_.get(), room, size, &got) == 1) return static_cast<ssize_t>(got);
    return SSL_get_error(ssl_.get(), 0) == SSL_ERROR_WANT_READ ? 0 : -1;
  }

  /// An answer always has room in a socket whose client waits for it.
  bool write(std::string_view answer) {
    if (ssl_ == nullptr)
      return send(socket_, answer.data(), answer.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(answer.size());
    size_t written = 0;
    return SSL_write_ex(ssl_.get(), answer.data(), answer.size(), &written) == 1;
  }

  /// \returns the bytes of the first request; 0: not all of them have come
  size_t whole_request() const {
    const std::string_view bytes(received_.data(), used_);
    const size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) return 0;
    const size_t size = end + 4 + bench::content_length(bytes.substr(0, end + 4));
    return bytes.size() < size ? 0 : size;
  }

  const int socket_;
  const std::unique_ptr<SSL, FreeSsl> ssl_;
  std::array<char, kMostRequestBytes> received_;
  size_t used_ = 0;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "tls_echo: %s: %s\n", what, std::strerror(errno));
  ERR_print_errors_fp(stderr);
  std::exit(1);
}

int listen_as(const char* name) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, any, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, any, &size) != 0)
    fail("cannot listen");
  std::printf("%s 127.0.0.1:%d\n", name, ntohs(address.sin_port));
  std::fflush(stdout);
  return listener;
}

/// As the server's: no session is kept, and buffers go while a connection has nothing to say.
SSL_CTX* make_context(const char* certificate, const char* key) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr || SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    fail("cannot use the certificate");
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);  // a record's head and body with one call
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return context;
}

class Loop {
 public:
  Loop(std::string answer, SSL_CTX* context)
      : answer_(std::move(answer)), context_(context), plain_(listen_as("plain")), tls_(listen_as("tls")) {
    watch(plain_);
    watch(tls_);
  }

  void run() {
    std::array<epoll_event, 64> events;
    while (true) {
      const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        const int socket = events[i].data.fd;
        if (socket == plain_ || socket == tls_) {
          accept_all(socket);
        } else if (!connections_.at(socket)->serve(answer_)) {
          connections_.erase(socket);  // closes it, which ends its watch
        }
      }
    }
  }

 private:
  void watch(int socket) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = socket;
    epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &event);
  }

  void accept_all(int listener) {
    for (int socket; (socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      const int yes = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      connections_[socket] =
          std::make_unique<Connection>(socket, listener == tls_ ? context_.get() : nullptr);
      watch(socket);
    }
  }

  const std::string answer_;
  const std::unique_ptr<SSL_CTX, FreeSsl> context_;
  const int plain_;
  const int tls_;
  const int poll_ = epoll_create1(EPOLL_CLOEXEC);
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tls_echo CERTIFICATE KEY ANSWER\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::ifstream file(argv[3], std::ios::binary);
  std::string answer((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (answer.empty()) fail("cannot read the answer");
  Loop(std::move(answer), make_context(argv[1], argv[2])).run();
}
