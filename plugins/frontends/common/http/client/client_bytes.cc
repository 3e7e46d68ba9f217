#include "frontends/common/http/client/client_bytes.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace atl::frontends::http {

ssize_t ClientBytes::send(std::span<const iovec> parts) noexcept {
  if (tls_ != nullptr) return send_tls(parts);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  return ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// What is encrypted goes first, and nothing more is encrypted while it waits.
ssize_t ClientBytes::send_tls(std::span<const iovec> parts) noexcept {
  auto failed = [](int error) {
    errno = error;
    return ssize_t{-1};
  };
  if (tls_->send() < 0) return failed(EPIPE);
  if (tls_->has_unsent()) return failed(EAGAIN);
  if (parts.empty()) return 0;
  size_t taken = 0;
  const bool able = tls_->encrypt(parts.first(std::min(parts.size(), TlsChannel::kMostPieces)), &taken);
  if (!able || tls_->send() < 0) return failed(EPIPE);
  return static_cast<ssize_t>(taken);
}

bool ClientBytes::send_whole(std::string_view bytes) noexcept {
  const iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  return send({&part, 1}) == static_cast<ssize_t>(bytes.size());
}

ssize_t ClientBytes::receive_plain(std::span<char> space) noexcept {
  return ::recv(fd_, space.data(), space.size(), MSG_DONTWAIT);
}

void ClientBytes::end() noexcept {
  tls_.reset();  // it has its last word
  (void)::shutdown(fd_, SHUT_WR);
}

void ClientBytes::close(bool is_whole) noexcept {
  if (tls_ != nullptr && !is_whole) tls_->abandon();
  tls_.reset();
  fd_ = -1;
}

}  // namespace atl::frontends::http
