/// Where a frontend listens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::frontends {

struct ListenAddress {
  std::string host;   ///< a name or an address, without brackets
  uint16_t port = 0;  ///< 0: the system chooses a free one

  /// Reads "host:port", "1.2.3.4:port" or "[ipv6]:port". Errors: INVALID_ARGUMENT, naming option 'address'.
  static Result<ListenAddress> parse(std::string_view text) noexcept;

  /// "127.0.0.1:8001", "[::1]:8001". \param bound_port  what the socket got.
  std::string text(int bound_port) const;
};

}  // namespace atl::frontends
