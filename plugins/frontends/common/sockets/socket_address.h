/// Addresses of other servers.
#pragma once

#include <sys/socket.h>

#include <string>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/host_port.h"

namespace atl::frontends {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Asks the system, which for a name may take seconds. \param flags  of getaddrinfo(): with AI_NUMERICHOST only text that is an
/// address is taken, at once \param address  gets the first one \returns why there is none; empty: there is
std::string resolve_address(const HostPort& server, int flags, SocketAddress* address);

/// A TCP socket that connects, not blocking, and sends at once what is written. Where its other side is gone without a word (power, network),
/// waiting for it ends after some 25 s: ETIMEDOUT. \returns none, and errno
FileDescriptor begin_connection(const SocketAddress& address) noexcept;

}  // namespace atl::frontends
