/// Sockets on which instances of this server listen, so that an instance that takes the place of another can
/// go on with its very socket: connections that wait in the socket's queue are not lost. Service
/// "atoll.listeners/1", provided by the kernel.
///
///     listeners->add(host, fd);     // after listen()
///     ...
///     listeners->remove(host, fd);  // before close(fd)
///
/// An instance that is to listen on an address looks for a socket of an instance that retires, and duplicates
/// its descriptor inside visit().
#pragma once

#include <functional>
#include <string_view>

#include "atoll/core/host.h"

namespace atl {

/// Whoever listens notes its socket here, and takes it out before the socket is closed. The list owns no
/// descriptor. Functions may be called from any thread [any]; each holds the list's lock.
class Listeners {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.listeners/1";

  /// Notes a socket. \param owner  the host of the instance whose socket it is; valid until remove()
  virtual void add(const Host& owner, int fd) noexcept = 0;
  /// Takes the socket out. Waits for a visit() that is under way.
  virtual void remove(const Host& owner, int fd) noexcept = 0;
  /// Calls `look` with each socket, in the order in which they were added. None of them is taken out, and so
  /// none is closed, before this returns. `look` must not call any function of this interface, which would
  /// wait for itself.
  virtual void visit(const std::function<void(const Host& owner, int fd)>& look) const noexcept = 0;

 protected:
  ~Listeners() = default;
};

}  // namespace atl
