/// A server that replies as a test says.
#pragma once

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace atl::caches {

/// Replies to PING and AUTH by itself, and counts connections.
class FakeRedis {
 public:
  using Words = std::vector<std::string>;
  /// \returns what is sent; nothing: the connection is closed
  using Script = std::function<std::optional<std::string>(const Words&)>;

  explicit FakeRedis(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    (void)::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    (void)::listen(listener_, 64);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;
  ~FakeRedis() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      std::scoped_lock lock(mutex_);
      for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    for (std::thread& server : servers_) server.join();
    for (const int socket : sockets_) ::close(socket);
    ::close(listener_);
  }

  int port() const noexcept { return port_; }
  int connections() const noexcept { return connections_; }

 private:
  void accept_all() {
    while (true) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      ++connections_;
      std::scoped_lock lock(mutex_);
      sockets_.push_back(socket);
      servers_.emplace_back([this, socket] { serve(socket); });
    }
  }
  void serve(int socket) {
    redisReader* reader = redisReaderCreate();
    char bytes[16384];
    bool goes_on = true;
    while (goes_on) {
      const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
      if (got <= 0) break;
      (void)redisReaderFeed(reader, bytes, static_cast<size_t>(got));
      void* read = nullptr;
      while (goes_on && redisReaderGetReply(reader, &read) == REDIS_OK && read != nullptr) {
        auto* command = static_cast<redisReply*>(read);
        Words words;
        for (size_t i = 0; i < command->elements; ++i) {
          words.emplace_back(command->element[i]->str, command->element[i]->len);
        }
        freeReplyObject(command);
        goes_on = reply(socket, words);
      }
    }
    redisReaderFree(reader);
    ::shutdown(socket, SHUT_RDWR);
  }
  bool reply(int socket, const Words& words) {
    std::optional<std::string> text = words.at(0) == "PING"   ? "+PONG\r\n"
                                      : words.at(0) == "AUTH" ? "+OK\r\n"
                                                              : script_(words);
    if (!text) return false;
    std::string_view rest = *text;
    while (!rest.empty()) {
      const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      rest.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  const Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> servers_;
  std::atomic<int> connections_{0};
};

}  // namespace atl::caches
