/// A client of plain sockets, which sends what a library would refuse to send.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/common/tls/testing/tls_client.h"

namespace atl::frontends::http {

struct Reply {
  int status = 0;  ///< 0: none came
  std::string version;
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;                            ///< of a chunked reply: the data alone
  std::string header(const std::string& name) const {
    auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

/// Whether all servers and clients of this run of the tests have TLS.
inline bool uses_tls() { return std::getenv("ATOLL_TEST_TLS") != nullptr; }

class HttpClient {
 public:
  static constexpr int kTimeoutMs = 30'000;

  explicit HttpClient(int port, int receive_buffer_bytes = 0) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer_bytes != 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (uses_tls()) tls_ = std::make_unique<TlsClient>(fd_);
  }
  HttpClient(HttpClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        connected_(other.connected_),
        received_(std::move(other.received_)),
        tls_(std::move(other.tls_)) {}
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient() { close(); }

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// The server sees a reset, not an ordinary end.
  void reset() {
    linger hard{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close();
  }
  void end_sending() {
    if (tls_ != nullptr) tls_->end();
    ::shutdown(fd_, SHUT_WR);
  }
  /// False: the server has gone.
  bool send(std::string_view bytes) {
    if (tls_ != nullptr) return tls_->send(bytes);
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  /// The next reply; status 0 if the connection ends before. \param to_head  it has no body
  Reply receive(bool to_head = false) {
    Reply reply;
    size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return reply;
    }
    read_head(received_.substr(0, end), &reply);
    received_.erase(0, end + 4);
    if (to_head) return reply;
    if (reply.header("transfer-encoding") == "chunked") {
      if (!read_chunks(&reply)) reply.status = 0;
    } else if (reply.headers.contains("content-length")) {
      const size_t length = std::stoul(reply.header("content-length"));
      while (received_.size() < length) {
        if (!more()) return Reply();
      }
      reply.body = received_.substr(0, length);
      received_.erase(0, length);
    } else if (reply.status != 100) {
      while (more()) {
      }
      reply.body = std::exchange(received_, {});
    }
    return reply;
  }
  Reply ask(std::string_view request) {
    send(request);
    return receive();
  }
  /// Everything until the server closes; with what was received before.
  std::string receive_all() {
    while (more()) {
    }
    return std::exchange(received_, {});
  }
  /// True: the server closes within the time, and sends nothing more before.
  bool closed_by_server(int timeout_ms = kTimeoutMs) {
    return received_.empty() && !more(timeout_ms) && ended_;
  }
  /// Some bytes more. False: none within the time, or the end.
  bool more(int timeout_ms = kTimeoutMs) {
    char bytes[65536];
    ssize_t count = -1;
    if (tls_ != nullptr) {
      count = tls_->receive(bytes, sizeof bytes, timeout_ms);
      if (count < 0) return false;
    } else {
      pollfd readable{fd_, POLLIN, 0};
      if (poll(&readable, 1, timeout_ms) != 1) return false;
      count = recv(fd_, bytes, sizeof bytes, 0);
    }
    if (count <= 0) {
      ended_ = true;
      return false;
    }
    received_.append(bytes, static_cast<size_t>(count));
    return true;
  }
  std::string& received() { return received_; }

 private:
  static void read_head(std::string_view head, Reply* reply) {
    size_t line_end = head.find("\r\n");
    const std::string_view line = head.substr(0, line_end);
    reply->version = std::string(line.substr(0, 8));
    reply->status = std::atoi(std::string(line.substr(9, 3)).c_str());
    while (line_end != std::string_view::npos) {
      head.remove_prefix(line_end + 2);
      line_end = head.find("\r\n");
      const std::string_view field = head.substr(0, line_end);
      const size_t colon = field.find(':');
      std::string name(field.substr(0, colon));
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      reply->headers[name] = std::string(field.substr(colon + 2));
    }
  }
  bool read_chunks(Reply* reply) {
    while (true) {
      size_t end = 0;
      while ((end = received_.find("\r\n")) == std::string::npos) {
        if (!more()) return false;
      }
      const size_t size = std::stoul(received_.substr(0, end), nullptr, 16);
      while (received_.size() < end + 2 + size + 2) {
        if (!more()) return false;
      }
      reply->body.append(received_, end + 2, size);
      received_.erase(0, end + 2 + size + 2);
      if (size == 0) return true;
    }
  }

  int fd_ = -1;
  bool connected_ = false;
  bool ended_ = false;
  std::string received_;
  std::unique_ptr<TlsClient> tls_;
};

}  // namespace atl::frontends::http
