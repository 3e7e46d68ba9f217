#include "frontends/common/listening_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>

namespace atl::frontends {
namespace {

bool same_address(const sockaddr_storage& left, const sockaddr& right) noexcept {
  if (left.ss_family != right.sa_family) return false;
  if (right.sa_family == AF_INET) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(left);
    const auto& b = reinterpret_cast<const sockaddr_in&>(right);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  if (right.sa_family != AF_INET6) return false;
  const auto& a = reinterpret_cast<const sockaddr_in6&>(left);
  const auto& b = reinterpret_cast<const sockaddr_in6&>(right);
  return a.sin6_port == b.sin6_port && a.sin6_scope_id == b.sin6_scope_id &&
         std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

bool listens_on(int fd, const sockaddr& address) noexcept {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return false;
  sockaddr_storage bound{};
  size = sizeof bound;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0 && same_address(bound, address);
}

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

/// A new descriptor for the socket with which this process listens on the address; -1: there is none. The
/// process's own table of descriptors is asked, as it is the one place that instances share whose files
/// differ.
int duplicate_listening_socket(const sockaddr& address) noexcept {
  std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
  if (folder == nullptr) return -1;
  while (const dirent* entry = readdir(folder.get())) {
    int fd = -1;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, fd).ptr != end || fd < 0) continue;
    struct stat info {};
    if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode) || !listens_on(fd, address)) continue;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    // The number may have come to mean something else meanwhile.
    if (copy >= 0 && listens_on(copy, address)) return copy;
    if (copy >= 0) close(copy);
  }
  return -1;
}

/// -1: errno says why.
int listen_anew(const addrinfo& address, int backlog) noexcept {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  if (fd < 0) return -1;
  const int on = 1;
  // The port is shared, so that it can be had beside the instance that is replaced if its socket can not;
  // that nobody else has it is checked before.
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
      bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, backlog) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int port_of(int fd) noexcept {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(bound).sin_port
                                          : reinterpret_cast<sockaddr_in6&>(bound).sin6_port);
}

}  // namespace

Result<ListeningSocket> listen_on(const ListenAddress& address, const ListenOptions& options,
                                  std::string_view who) noexcept {
  if (!options.take_over && !options.share_port) ATOLL_RETURN_IF_ERROR(check_address_is_free(address));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
      error != 0) {
    return invalid_argument("can not listen on '", address.host, "': ", gai_strerror(error));
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  int error = 0;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    ListeningSocket socket{.family = entry->ai_family};
    if (options.take_over && address.port != 0) socket.fd = duplicate_listening_socket(*entry->ai_addr);
    if (socket.fd < 0) socket.fd = listen_anew(*entry, options.backlog);
    if (socket.fd < 0) {
      error = errno;
      continue;
    }
    socket.port = port_of(socket.fd);
    return socket;
  }
  return internal_error(who, " can not listen on '", address.text(address.port), "': ", std::strerror(error));
}

}  // namespace atl::frontends
