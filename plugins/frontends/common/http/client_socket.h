/// The socket of one client, and what its loop is asked to watch it for.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <span>

#include "frontends/common/loop/event_loop.h"

namespace atl::frontends::http {

/// Does not block. Of its loop's thread.
class ClientSocket {
 public:
  /// Told of events without being asked for: the connection is broken.
  static constexpr uint32_t kBroken = EPOLLERR | EPOLLHUP;

  /// \param fd  becomes this object's \param watcher  told of what happens; both outlive the watching
  ClientSocket(EventLoop& loop, Watcher& watcher, int fd) noexcept
      : loop_(loop), watcher_(watcher), fd_(fd) {}
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;
  ~ClientSocket();

  /// Watches for what comes. Errors: as EventLoop::watch().
  Status start() noexcept { return loop_.watch(fd_, events_, watcher_); }
  /// -1: closed
  int fd() const noexcept { return fd_; }
  bool watches(uint32_t events) const noexcept { return (events_ & events) != 0; }
  /// Asks for more events, or for fewer: a call of the system, where that changes anything.
  void watch(uint32_t events) noexcept { set_events(events_ | events); }
  void unwatch(uint32_t events) noexcept { set_events(events_ & ~events); }

  /// \returns bytes received; 0: none are there, or ever will be; -1: the connection is broken
  ssize_t receive(std::span<char> space) noexcept;
  /// receive() has found that the client sends nothing more.
  bool input_ended() const noexcept { return input_ended_; }
  /// Whether bytes are there that receive() would give.
  bool has_input() const noexcept;
  /// The client sees that nothing more is sent.
  void end_output() noexcept { (void)::shutdown(fd_, SHUT_WR); }
  void close() noexcept;

 private:
  void set_events(uint32_t events) noexcept;

  EventLoop& loop_;
  Watcher& watcher_;
  int fd_;
  uint32_t events_ = EPOLLIN;
  bool input_ended_ = false;
};

}  // namespace atl::frontends::http
