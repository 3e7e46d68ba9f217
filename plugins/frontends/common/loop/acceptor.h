/// Taking connections on a loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/common/sockets/listening_socket.h"
#include "frontends/common/sockets/opening.h"

namespace atl::frontends {

/// Goes on when the process has descriptors again after it had none. All functions on the loop's thread, or
/// before it runs.
class Acceptor final : private Watcher, private Timer {
 public:
  /// \param who   for log lines: "gRPC"
  /// \param take  gets each connection: a descriptor that does not block
  Acceptor(EventLoop& loop, Log& log, std::string who, std::function<void(int fd)> take)
      : loop_(loop), log_(log), who_(std::move(who)), take_(std::move(take)) {}
  ~Acceptor() { close(); }

  /// Takes connections from here on. A socket that does not listen yet is opened when that is due; until then
  /// clients are refused. The socket becomes this object's, also on failure.
  Status open(ListeningSocket socket, Opening opening = {}) noexcept;
  /// Takes no more. May be called again.
  void close() noexcept;
  bool is_open() const noexcept { return fd_ >= 0; }

  /// Accepting is held back until resume(): what comes waits in the socket's queue.
  void pause() noexcept;
  void resume() noexcept;

  /// How a descriptor is got; for tests of what happens when there is none.
  using AcceptFunction = int (*)(int listening);
  void set_accept_function(AcceptFunction function) noexcept { accept_ = function; }

 private:
  void on_ready(uint32_t events) noexcept override;
  void on_time() noexcept override;
  static int accept_one(int listening);
  void open_if_due() noexcept;

  EventLoop& loop_;
  Log& log_;
  const std::string who_;
  const std::function<void(int fd)> take_;
  AcceptFunction accept_ = &accept_one;
  ListenerNote note_;
  Opening opening_;
  int port_ = 0;
  int fd_ = -1;
  bool waits_ = false;  ///< the socket does not listen yet
  bool watched_ = false;
  bool told_ = false;  ///< why there are no connections for now
};

}  // namespace atl::frontends
