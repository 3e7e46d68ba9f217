/// A frontend that passes calls on to a second one in this process, or to a server that answers what a test says.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "atoll/testing/fake_remote_models.h"
#include "frontends/common/testing/remote_server_tls.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {

/// A server of its own.
struct OtherServer {
  OtherServer() : host("http", test::FakeHost::Threads::kReal) {
    set_default_options(host.options());
    host.registry().publish<ModelCatalog>("models", catalog);
  }
  ~OtherServer() { stop(); }
  RemoteServer start() {
    if (tls.is_wanted) tls.serve(host.options());
    frontend = std::make_unique<HttpFrontend>(host);
    EXPECT_TRUE(frontend->init().ok());
    EXPECT_TRUE(frontend->start().ok());
    return {{"127.0.0.1", static_cast<uint16_t>(frontend->bound_port())}, {}};
  }
  void stop() { frontend.reset(); }

  RemoteServerTls tls;
  test::FakeModelCatalog catalog;
  test::FakeHost host;
  std::unique_ptr<HttpFrontend> frontend;
};

/// Answers each connection's first request with the same bytes, and closes it.
class SaysAlways {
 public:
  explicit SaysAlways(std::string bytes) : bytes_(std::move(bytes)) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~SaysAlways() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  RemoteServer server() const { return {{"127.0.0.1", port_}, {}}; }
  std::string request() {
    std::lock_guard lock(mutex_);
    return request_;
  }

 private:
  void run() {
    while (true) {
      const int client = accept(fd_, nullptr, nullptr);
      if (client < 0) return;
      char bytes[65536];
      const ssize_t count = recv(client, bytes, sizeof bytes, 0);
      {
        std::lock_guard lock(mutex_);
        request_.assign(bytes, static_cast<size_t>(std::max<ssize_t>(count, 0)));
      }
      ::send(client, bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
      ::shutdown(client, SHUT_WR);
      while (recv(client, bytes, sizeof bytes, 0) > 0) {
      }
      ::close(client);
    }
  }
  const std::string bytes_;
  int fd_ = -1;
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::string request_;
  std::thread thread_;
};

class RemoteModelsTest : public HttpFrontendTest {
 protected:
  RemoteModelsTest() { host_.registry().publish<RemoteModels>("pools", remote_, 0, 2); }
  ~RemoteModelsTest() override { stop(); }

  void start_both() {
    const RemoteServer server = there_.start();
    if (there_.tls.is_wanted) remote_.set_tls(there_.tls.rules());
    for (const char* model : {"m", "n", "g"}) remote_.set(cat("lease-of-", model), model, server);
    start();
  }
  Reply ask_one_that_says(const std::string& bytes) {
    SaysAlways other(bytes);
    remote_.set("lease-of-m", "m", other.server());
    return infer("m");
  }
  bool all_gone() {
    return eventually([this] { return calls() == 0; });
  }

  test::FakeRemoteModels remote_;
  OtherServer there_;
};

}  // namespace atl::frontends::http
