#include "frontends/common/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "atoll/host_port.h"
#include "frontends/common/wire_messages.h"

namespace atl::frontends {
namespace {

/// 0, or the errno of the step that failed.
int try_bind(const addrinfo& address) noexcept {
  int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
  if (fd < 0) return errno;
  // As listeners do: connections of a server that ended a moment ago do not count.
  int on = 1;
  int error = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ? errno : 0;
  if (error == 0 && bind(fd, address.ai_addr, address.ai_addrlen) < 0) error = errno;
  if (error == 0 && listen(fd, 1) < 0) error = errno;
  close(fd);
  return error;
}

}  // namespace

Result<ListenAddress> ListenAddress::parse(std::string_view text) noexcept {
  std::optional<HostPort> read = HostPort::parse(text);
  if (!read) {
    return invalid_argument("option 'address' is '", text,
                            "', expected host:port with a port of 0 to 65535, such as 127.0.0.1:8001");
  }
  return ListenAddress{std::move(read->host), read->port};
}

std::string ListenAddress::text(int bound_port) const { return host_port_text(host, bound_port); }

Status check_address_is_free(const ListenAddress& wanted) noexcept {
  const auto& [host, port] = wanted;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list); error != 0) {
    return invalid_argument("can not listen on '", host, "': ", gai_strerror(error));
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  int last_error = 0;
  for (const addrinfo* address = list; address != nullptr; address = address->ai_next) {
    int error = try_bind(*address);
    if (error == 0) return {};
    if (error == EADDRINUSE) return unavailable(messages::address_in_use(cat(host, ":", port)));
    last_error = error;
  }
  return invalid_argument("can not listen on '", host, ":", port, "': ", std::strerror(last_error));
}

}  // namespace atl::frontends
