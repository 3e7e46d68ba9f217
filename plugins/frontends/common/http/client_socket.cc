#include "frontends/common/http/client_socket.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace atl::frontends::http {

ClientSocket::~ClientSocket() {
  if (fd_ >= 0) ::close(fd_);
}

void ClientSocket::close() noexcept {
  loop_.forget(fd_, watcher_);
  ::close(std::exchange(fd_, -1));
}

void ClientSocket::set_events(uint32_t events) noexcept {
  if (std::exchange(events_, events) != events) loop_.rewatch(fd_, events, watcher_);
}

ssize_t ClientSocket::receive(std::span<char> space) noexcept {
  while (true) {
    const ssize_t count = ::recv(fd_, space.data(), space.size(), MSG_DONTWAIT);
    if (count > 0) return count;
    if (count == 0) {
      input_ended_ = true;
      return 0;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) return -1;
  }
}

bool ClientSocket::has_input() const noexcept {
  char first = 0;
  return ::recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

}  // namespace atl::frontends::http
