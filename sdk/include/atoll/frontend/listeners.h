/// Sockets on which instances of this server listen, so that one that comes can go on with the socket of one
/// that goes. Service "atoll.listeners/1", provided by the kernel.
#pragma once

#include <functional>
#include <string_view>

#include "atoll/core/host.h"

namespace atl {

/// [any] Who listens notes its socket here, and takes it out before it is closed.
class Listeners {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.listeners/1";

  /// \param owner  whose socket it is; valid until remove()
  virtual void add(const Host& owner, int fd) noexcept = 0;
  virtual void remove(const Host& owner, int fd) noexcept = 0;
  /// Calls `look` with each socket, in the order in which they were added. None is taken out, and so none is
  /// closed, before it returns; it calls no function of this interface.
  virtual void visit(const std::function<void(const Host& owner, int fd)>& look) const noexcept = 0;

 protected:
  ~Listeners() = default;
};

}  // namespace atl
