#include "supervision/systemd/notify_socket.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "atoll/core/text.h"

namespace atl::supervision {

Result<NotifySocket> NotifySocket::open(std::string_view address) {
  NotifySocket made;
  if (address.size() < 2 || (address.front() != '/' && address.front() != '@'))
    return invalid_argument("found '", address, "', expected a path from / on, or '@' and a name");
  if (address.size() >= sizeof made.address_.sun_path)
    return invalid_argument("found ", address.size(), " bytes, expected at most ",
                            sizeof made.address_.sun_path - 1);
  made.address_.sun_family = AF_UNIX;
  std::memcpy(made.address_.sun_path, address.data(), address.size());
  // An abstract name begins with a zero and ends with the address; a path ends with a zero.
  const bool is_abstract = address.front() == '@';
  if (is_abstract) made.address_.sun_path[0] = '\0';
  made.address_size_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1));
  made.socket_ = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket_.valid()) return unavailable("no socket: ", std::strerror(errno));
  return made;
}

Status NotifySocket::send(std::string_view message) noexcept {
  ssize_t sent = 0;
  do {
    sent = ::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                    reinterpret_cast<const sockaddr*>(&address_), address_size_);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {};
  const bool is_full = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
  return make_status(is_full ? Code::kResourceExhausted : Code::kUnavailable, std::strerror(errno));
}

}  // namespace atl::supervision
