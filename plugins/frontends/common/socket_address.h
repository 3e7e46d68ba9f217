/// Addresses of other servers.
#pragma once

#include <sys/socket.h>

#include <string>

#include "atoll/host_port.h"

namespace atl::frontends {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Asks the system, which for a name may take seconds. \param flags  of getaddrinfo(): with AI_NUMERICHOST only text that is an
/// address is taken, at once \param address  gets the first one \returns why there is none; empty: there is
std::string resolve_address(const HostPort& server, int flags, SocketAddress* address);

}  // namespace atl::frontends
