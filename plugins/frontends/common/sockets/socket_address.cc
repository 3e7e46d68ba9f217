#include "frontends/common/sockets/socket_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace atl::frontends {
namespace {

/// Of keepalive probes, which are sent where nothing else comes. No limit of data that is not acknowledged: one who is slow to read is not gone.
constexpr int kQuietSeconds = 10, kProbeSeconds = 5, kProbes = 3;

void set(const FileDescriptor& socket, int level, int option, int value) noexcept {
  (void)::setsockopt(socket.get(), level, option, &value, sizeof value);
}

}  // namespace

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

FileDescriptor begin_connection(const SocketAddress& address) noexcept {
  FileDescriptor socket(::socket(address.get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return socket;
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kQuietSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  if (::connect(socket.get(), address.get(), address.bytes) == 0 || errno == EINPROGRESS) return socket;
  const int failed = errno;
  socket = FileDescriptor();
  errno = failed;
  return socket;
}

}  // namespace atl::frontends
