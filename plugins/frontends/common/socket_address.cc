#include "frontends/common/socket_address.h"

#include <netdb.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace atl::frontends {

std::string resolve_address(const HostPort& server, int flags, SocketAddress* address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(server.host.c_str(), std::to_string(server.port).c_str(), &hints, &list);
  if (error != 0) return gai_strerror(error);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  address->bytes = std::min<socklen_t>(list->ai_addrlen, sizeof address->storage);
  std::memcpy(&address->storage, list->ai_addr, address->bytes);
  return {};
}

}  // namespace atl::frontends
