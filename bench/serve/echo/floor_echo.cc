// The least that bodies of a megabyte in and out can cost: one thread, epoll, receives into memory that is kept, writes from
// there. Shapes: `http` and `grpc`; `http_copied` and `grpc_copied` copy each message once, as a model does whose output is
// not its input.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "echo_options.h"
#include "floor_connection.h"

namespace {

using bench::FloorConnection;

int fail(const char* what) {
  std::fprintf(stderr, "floor_echo: %s: %s\n", what, std::strerror(errno));
  return 1;
}

/// \returns -1 with errno
int listen_on(uint16_t& port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return -1;
  port = ntohs(address.sin_port);
  return listener;
}

class Loop {
 public:
  Loop(int listener, const std::string& shape)
      : listener_(listener), is_grpc_(shape.starts_with("grpc")), copies_(shape.ends_with("copied")) {
    watch(EPOLL_CTL_ADD, listener_, EPOLLIN);
  }

  void run() {
    std::array<epoll_event, 64> events;
    while (true) {
      const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i) {
        if (events[i].data.fd == listener_)
          accept_all();
        else
          serve(events[i].data.fd, events[i].events);
      }
    }
  }

 private:
  void watch(int operation, int socket, uint32_t what) {
    epoll_event event{};
    event.events = what;
    event.data.fd = socket;
    epoll_ctl(poll_, operation, socket, &event);
  }

  void accept_all() {
    for (int socket; (socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      const int yes = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      connections_[socket] =
          is_grpc_ ? bench::make_floor_grpc(socket, copies_) : bench::make_floor_http(socket, copies_);
      watch(EPOLL_CTL_ADD, socket, EPOLLIN);
    }
  }

  void serve(int socket, uint32_t events) {
    FloorConnection& connection = *connections_.at(socket);
    const bool waited = connection.wants_to_write();
    const bool good = (!(events & EPOLLOUT) || connection.on_writable()) &&
                      (!(events & ~uint32_t{EPOLLOUT}) || connection.on_readable());
    if (!good) {
      connections_.erase(socket);  // closes it, which ends its watch
    } else if (connection.wants_to_write() != waited) {
      watch(EPOLL_CTL_MOD, socket, waited ? uint32_t{EPOLLIN} : uint32_t{EPOLLIN | EPOLLOUT});
    }
  }

  const int listener_;
  const int poll_ = epoll_create1(EPOLL_CLOEXEC);
  const bool is_grpc_;
  const bool copies_;
  std::unordered_map<int, std::unique_ptr<FloorConnection>> connections_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::EchoOptions options =
      bench::parse_echo_options(argc, argv, {"http", "grpc", "http_copied", "grpc_copied"});
  std::signal(SIGPIPE, SIG_IGN);
  const int listener = listen_on(options.port);
  if (listener < 0) return fail("cannot listen");
  std::printf("listening on 127.0.0.1:%d\n", options.port);
  std::fflush(stdout);
  Loop(listener, options.shape).run();
}
