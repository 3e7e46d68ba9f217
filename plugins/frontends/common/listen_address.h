/// Where a frontend listens, and whether somebody listens there already.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/status.h"

namespace atl::frontends {

struct ListenAddress {
  std::string host;   ///< a name or an address, without brackets
  uint16_t port = 0;  ///< 0: the system chooses a free one

  /// Reads "host:port", "1.2.3.4:port" or "[ipv6]:port". Errors: INVALID_ARGUMENT, naming option 'address'.
  static Result<ListenAddress> parse(std::string_view text) noexcept;

  /// "127.0.0.1:8001", "[::1]:8001". \param bound_port  what the socket got.
  std::string text(int bound_port) const;
};

/// Binds the address for a moment, without sharing it: a listener that shares ports would share one that
/// another process of the same user shares too, and half of the calls would go astray. Port 0 always
/// succeeds. Errors: UNAVAILABLE "Socket '<host>:<port>' already in use "; INVALID_ARGUMENT the host is
/// unknown or not an address of this machine, the port is not allowed.
Status check_address_is_free(const ListenAddress& address) noexcept;

}  // namespace atl::frontends
