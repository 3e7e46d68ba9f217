/// The socket on which a service manager hears of its service: systemd's protocol sd_notify(3).
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <string_view>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::supervision {

/// Sends datagrams to one address. Not for two threads at a time.
class NotifySocket {
 public:
  /// \param address  what NOTIFY_SOCKET says: a path that begins with '/', or '@' and an abstract name
  /// Errors: INVALID_ARGUMENT for an address of another kind, or one that is too long; UNAVAILABLE if
  /// there is no descriptor left. That somebody listens is not looked at.
  static Result<NotifySocket> open(std::string_view address);

  /// Sends one message: lines of NAME=VALUE. Never waits.
  /// Errors: RESOURCE_EXHAUSTED if the receiver's queue is full now, so the message may be sent again
  /// later; UNAVAILABLE if the receiver is not there.
  Status send(std::string_view message) noexcept;

 private:
  NotifySocket() = default;

  FileDescriptor socket_;
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
};

}  // namespace atl::supervision
