#include "frontends/common/sockets/listening_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/common/codec/wire_messages.h"

namespace atl::frontends {
namespace {

/// Connections that may wait to be accepted.
constexpr int kBacklog = 1024;

struct Place {
  sockaddr_storage address{};
  bool is_v4 = false;
  bool is_any = false;
  uint16_t port = 0;  // in the network's order

  explicit Place(const sockaddr_storage& of) noexcept : address(of), is_v4(of.ss_family == AF_INET) {
    if (is_v4) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
      is_any = v4.sin_addr.s_addr == INADDR_ANY;
      port = v4.sin_port;
    } else if (address.ss_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
      is_any = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
      port = v6.sin6_port;
    }
  }

  bool is(const Place& other) const noexcept {
    if (address.ss_family != other.address.ss_family || port != other.port) return false;
    if (is_v4) {
      return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr ==
             reinterpret_cast<const sockaddr_in&>(other.address).sin_addr.s_addr;
    }
    const auto& a = reinterpret_cast<const sockaddr_in6&>(address);
    const auto& b = reinterpret_cast<const sockaddr_in6&>(other.address);
    return a.sin6_scope_id == b.sin6_scope_id &&
           std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
  }
  /// The any-address of IPv6 is that of IPv4 too.
  bool overlaps(const Place& other) const noexcept {
    if (is(other)) return true;
    if (port != other.port) return false;
    return (is_any && (!is_v4 || other.is_v4)) || (other.is_any && (!other.is_v4 || is_v4));
  }
};

sockaddr_storage bound_address(int fd) noexcept {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) bound.ss_family = AF_UNSPEC;
  return bound;
}

bool shares_port(int fd) noexcept {
  int on = 0;
  socklen_t size = sizeof on;
  return getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, &size) == 0 && on != 0;
}

void set_share_port(int fd, bool shares) noexcept {
  const int on = shares ? 1 : 0;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

/// Who of this server listens where it overlaps with a wanted address.
struct Neighbours {
  bool in_use = false;      ///< somebody who does not retire, and the two do not share
  int taken_over = -1;      ///< a new descriptor for the very socket of somebody who retires
  std::vector<int> beside;  ///< sockets of those who retire that overlap, but are other ones; they share now
};

Neighbours look_around(const Listeners& listeners, const Place& wanted, bool share_port) {
  Neighbours found;
  listeners.visit([&](const Host& owner, int fd) {
    const Place place(bound_address(fd));
    if (!place.overlaps(wanted)) return;
    if (!owner.retires()) {
      found.in_use |= !share_port || !shares_port(fd);
    } else if (place.is(wanted)) {
      if (found.taken_over < 0) found.taken_over = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    } else if (!shares_port(fd)) {
      set_share_port(fd, true);
      found.beside.push_back(fd);
    }
  });
  return found;
}

/// What the system leaves behind of an earlier server's connections does not keep the address.
bool set_reuse_address(int fd) noexcept {
  const int on = 1;
  return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
}

bool bind_to(int fd, const addrinfo& address) noexcept {
  return bind(fd, address.ai_addr, address.ai_addrlen) == 0;
}

/// Two sockets that reuse an address may both be bound to it while none listens. So one that listens later
/// reuses the address only where it cannot be bound otherwise.
bool bind_alone(int fd, const addrinfo& address) noexcept {
  if (bind_to(fd, address)) return true;
  return errno == EADDRINUSE && set_reuse_address(fd) && bind_to(fd, address);
}

/// -1: errno says why.
int listen_anew(const addrinfo& address, bool share_port, const ListenOptions& options) noexcept {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
  if (fd < 0) return -1;
  if (share_port) set_share_port(fd, true);
  const bool done = options.opens_later
                        ? bind_alone(fd, address)
                        : set_reuse_address(fd) && bind_to(fd, address) && start_listening(fd);
  if (done) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/// As listen_anew(), or with the socket of an instance that retires. EADDRINUSE: whoever listens there stays.
int listen_beside(const addrinfo& address, const Listeners& listeners, const ListenOptions& options) {
  sockaddr_storage storage{};
  std::memcpy(&storage, address.ai_addr, address.ai_addrlen);
  Neighbours found = look_around(listeners, Place(storage), options.share_port);
  int fd = -1;
  if (found.in_use) {
    if (found.taken_over >= 0) close(found.taken_over);
    errno = EADDRINUSE;
  } else if (found.taken_over >= 0) {
    fd = found.taken_over;
    if (options.share_port) set_share_port(fd, true);
    if (!options.opens_later && !is_listening(fd) && !start_listening(fd)) {
      const int error = errno;
      close(std::exchange(fd, -1));
      errno = error;
    }
  } else {
    fd = listen_anew(address, options.share_port || !found.beside.empty(), options);
    if (fd >= 0 && !options.share_port) set_share_port(fd, false);
  }
  const int error = errno;
  listeners.visit([&](const Host&, int other) {
    if (std::find(found.beside.begin(), found.beside.end(), other) != found.beside.end())
      set_share_port(other, false);
  });
  errno = error;
  return fd;
}

int port_of(int fd) noexcept { return ntohs(Place(bound_address(fd)).port); }

}  // namespace

bool is_listening(int fd) noexcept {
  int on = 0;
  socklen_t size = sizeof on;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on != 0;
}

bool start_listening(int fd) noexcept {
  // Its connections inherit it, so that what is left of them does not keep the address from the next server.
  return set_reuse_address(fd) && listen(fd, kBacklog) == 0;
}

Result<ListeningSocket> listen_on(const ListenAddress& address, const ListenOptions& options,
                                  std::string_view who) noexcept {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
      error != 0) {
    return invalid_argument("cannot listen on '", address.host, "': ", gai_strerror(error));
  }
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  Service<Listeners> listeners;
  if (options.host != nullptr) {
    if (auto found = options.host->registry().find<Listeners>(); found.ok())
      listeners = std::move(found).value();
  }
  int error = 0;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    ListeningSocket socket{.family = entry->ai_family};
    socket.fd = listeners && address.port != 0 ? listen_beside(*entry, *listeners, options)
                                               : listen_anew(*entry, options.share_port, options);
    if (socket.fd < 0) {
      error = errno;
      if (error == EADDRINUSE) return unavailable(messages::address_in_use(address.text(address.port)));
      continue;
    }
    socket.port = port_of(socket.fd);
    if (listeners) socket.note = ListenerNote(std::move(listeners), *options.host, socket.fd);
    return socket;
  }
  if (error == EADDRNOTAVAIL || error == EACCES) {
    return invalid_argument("cannot listen on '", address.text(address.port), "': ", std::strerror(error));
  }
  return internal_error(who, " cannot listen on '", address.text(address.port), "': ", std::strerror(error));
}

}  // namespace atl::frontends
