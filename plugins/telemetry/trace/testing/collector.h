/// A tiny HTTP server that takes what is posted to it, for tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace atl::tracing {

struct PostedDocument {
  std::string head;
  std::string body;
};

/// Listens on a free port of the loopback. Answers each request with the next of the given codes, the last
/// one for all further ones; 0 is no answer at all, until the collector ends.
class Collector {
 public:
  explicit Collector(std::vector<int> codes = {200}) : codes_(std::move(codes)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, generic, &size) != 0) {
      std::perror("collector");
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector() {
    ::shutdown(listener_, SHUT_RDWR);
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      if (connection_ >= 0) ::shutdown(connection_, SHUT_RDWR);
      changed_.notify_all();
    }
    thread_.join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/traces"; }
  std::vector<PostedDocument> posted() const {
    std::lock_guard lock(mutex_);
    return posted_;
  }
  /// Waits for so many; false after a minute.
  bool wait_for(size_t count) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return posted_.size() >= count; });
  }

 private:
  void serve() {
    while (true) {
      int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      {
        std::lock_guard lock(mutex_);
        connection_ = connection;
        if (stopping_) ::shutdown(connection, SHUT_RDWR);
      }
      while (serve_request(connection)) {
      }
      std::lock_guard lock(mutex_);
      connection_ = -1;
      ::close(connection);
    }
  }
  bool serve_request(int connection) {
    std::string bytes;
    size_t head_end = std::string::npos, body_size = 0;
    char chunk[4096];
    while (head_end == std::string::npos || bytes.size() < head_end + 4 + body_size) {
      ssize_t count = ::recv(connection, chunk, sizeof chunk, 0);
      if (count <= 0) return false;
      bytes.append(chunk, static_cast<size_t>(count));
      if (head_end != std::string::npos) continue;
      head_end = bytes.find("\r\n\r\n");
      const char* length = ::strcasestr(bytes.c_str(), "\r\ncontent-length:");
      if (length != nullptr) body_size = std::strtoul(length + 17, nullptr, 10);
    }
    return answer(connection, {bytes.substr(0, head_end), bytes.substr(head_end + 4)});
  }
  bool answer(int connection, PostedDocument document) {
    std::unique_lock lock(mutex_);
    int code = codes_[std::min(posted_.size(), codes_.size() - 1)];
    posted_.push_back(std::move(document));
    changed_.notify_all();
    if (code == 0) {
      changed_.wait(lock, [&] { return stopping_; });
      return false;
    }
    std::string text = "HTTP/1.1 " + std::to_string(code) + " x\r\nContent-Length: 2\r\n\r\n{}";
    return ::send(connection, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  const std::vector<int> codes_;
  int listener_ = -1;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stopping_ = false;
  int connection_ = -1;
  std::vector<PostedDocument> posted_;
  std::thread thread_;
};

}  // namespace atl::tracing
