/// An API server on the loopback that says whatever a test wants to be said, for tests of what calls it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"

namespace atl::launchers {

struct ApiRequest {
  std::string line;   ///< "METHOD PATH?QUERY"
  std::string token;  ///< that it shows; empty: none
  std::string body;
};

struct ApiReply {
  std::string bytes;   ///< all that is sent, the head too
  bool stays = false;  ///< nothing follows, and the connection stays open
};

inline ApiReply api_reply(int status, std::string_view body, std::string_view headers = {}) {
  return {cat("HTTP/1.1 ", status, " x\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n",
              headers, "\r\n", body)};
}
/// A watch that has said so much. \param stays  and may say more, for all that its client knows
inline ApiReply api_watch(std::string_view lines, bool stays) {
  return {cat("HTTP/1.1 200 x\r\nConnection: close\r\n\r\n", lines), stays};
}

/// One request a connection, a thread a connection.
class ApiDouble {
 public:
  /// \param say  is called for one request at a time
  explicit ApiDouble(std::function<ApiReply(const ApiRequest&)> say) : say_(std::move(say)) {
    listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const bool listens = ::bind(listener_.get(), generic, size) == 0 && ::listen(listener_.get(), 16) == 0 &&
                         ::getsockname(listener_.get(), generic, &size) == 0;
    EXPECT_TRUE(listens);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept(); });
  }
  ApiDouble(const ApiDouble&) = delete;
  ApiDouble& operator=(const ApiDouble&) = delete;
  ~ApiDouble() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (Connection& connection : connections_) {
      ::shutdown(connection.socket.get(), SHUT_RDWR);
      connection.thread.join();
    }
  }

  std::string url() const { return cat("http://127.0.0.1:", port_); }
  std::vector<ApiRequest> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  struct Connection {
    FileDescriptor socket;
    std::thread thread;
  };

  void accept() {
    while (true) {
      FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (socket.get() < 0) return;
      const int number = socket.get();
      connections_.push_back({std::move(socket), std::thread([this, number] { serve(number); })});
    }
  }
  void serve(int socket) {
    std::string text;
    size_t whole = std::string::npos, head = 0;
    while (text.size() < whole) {
      char bytes[16 << 10];
      const ssize_t size = ::recv(socket, bytes, sizeof bytes, 0);
      if (size <= 0) return;
      text.append(bytes, static_cast<size_t>(size));
      head = text.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const char* const length = ::strcasestr(text.c_str(), "\r\ncontent-length:");
      whole = head + 4 + (length == nullptr ? 0 : std::strtoul(length + 17, nullptr, 10));
    }
    ApiReply reply;
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(read(text, head));
      reply = say_(asked_.back());
    }
    (void)::send(socket, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL);
    if (!reply.stays) ::shutdown(socket, SHUT_RDWR);
  }
  static ApiRequest read(const std::string& text, size_t head) {
    ApiRequest request;
    request.line = text.substr(0, text.find(" HTTP/"));
    request.body = text.substr(head + 4);
    constexpr std::string_view kToken = "\r\nAuthorization: Bearer ";
    if (const size_t at = text.find(kToken); at < head)
      request.token = text.substr(at + kToken.size(), text.find("\r\n", at + 2) - at - kToken.size());
    return request;
  }

  const std::function<ApiReply(const ApiRequest&)> say_;
  FileDescriptor listener_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<ApiRequest> asked_;
  std::list<Connection> connections_;  ///< the acceptor's, until it has ended
  std::thread acceptor_;
};

}  // namespace atl::launchers
