#include "frontends/common/sockets/listen_address.h"

#include <optional>
#include <utility>

#include "atoll/core/host_port.h"

namespace atl::frontends {

Result<ListenAddress> ListenAddress::parse(std::string_view text) noexcept {
  std::optional<HostPort> read = HostPort::parse(text);
  if (!read) {
    return invalid_argument("option 'address' is '", text,
                            "', expected host:port with a port of 0 to 65535, such as 127.0.0.1:8001");
  }
  return ListenAddress{std::move(read->host), read->port};
}

std::string ListenAddress::text(int bound_port) const { return host_port_text(host, bound_port); }

}  // namespace atl::frontends
