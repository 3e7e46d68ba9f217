#include "frontends/common/http/client/client_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "frontends/common/sockets/peer_address.h"

namespace atl::frontends::http {
namespace {

/// For a client that does not know that it has to speak TLS; there is nothing secret in it.
constexpr std::string_view kNoTls =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 45\r\n\r\n"
    "this port speaks TLS: use https:// as scheme\n";

}  // namespace

ClientSocket::~ClientSocket() {
  const int fd = bytes_.fd();
  bytes_.close(true);
  if (fd >= 0) ::close(fd);
}

bool ClientSocket::secure(TlsListener& listener, TlsThread& thread) noexcept {
  std::unique_ptr<TlsChannel> tls = listener.accept(bytes_.fd(), thread);
  if (tls == nullptr) return false;
  bytes_ = ClientBytes(bytes_.fd(), std::move(tls));
  tls_listener_ = &listener;
  return true;
}

Status ClientSocket::start() noexcept {
  ATOLL_RETURN_IF_ERROR(loop_.watch(fd(), events_, watcher_));
  if (bytes_.tls() != nullptr) bytes_.tls()->handshakes().begin(*this);
  return {};
}

void ClientSocket::close(bool is_whole) noexcept {
  const int fd = bytes_.fd();
  end_handshake();
  TurnEnd::unlink();
  loop_.forget(fd, watcher_);
  bytes_.close(is_whole);
  ::close(fd);
}

void ClientSocket::set_events(uint32_t events) noexcept {
  if (std::exchange(events_, events) != events) loop_.rewatch(fd(), events, watcher_);
}

ssize_t ClientSocket::receive_plain(std::span<char> space) noexcept {
  while (true) {
    const ssize_t count = bytes_.receive_plain(space);
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
  if (const TlsChannel* tls = bytes_.tls(); tls != nullptr) {
    if (!tls->is_open()) return false;
    if (tls->has_rest()) return true;
  }
  char first = 0;
  return ::recv(fd(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

// --- TLS ---

ssize_t ClientSocket::fail(std::string_view why) noexcept {
  end_handshake();
  if (!std::exchange(has_failed_, true)) tls_listener_->note_failure(peer_address(fd()), why);
  return -1;
}

void ClientSocket::on_handshake_turn() noexcept {
  TlsChannel& tls = *bytes_.tls();
  if (!tls.shake_hands()) {
    if (tls.speaks_plain_http())
      (void)::send(fd(), kNoTls.data(), kNoTls.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!tls.failure().empty()) (void)fail(tls.failure());
    has_failed_ = true;
    return watcher_.on_ready(kBroken);
  }
  if (tls.has_unsent()) watch(EPOLLOUT);
  if (!tls.is_open()) return;
  end_handshake();
  has_opened_ = true;
  // The end of the handshake and the first request may have come together.
  watcher_.on_ready(EPOLLIN);
}

void ClientSocket::on_handshake_dropped() noexcept {
  (void)fail("there were too many handshakes at a time");
  watcher_.on_ready(kBroken);
}

ssize_t ClientSocket::receive_tls(std::span<char> space) noexcept {
  if (has_failed_) return -1;
  TlsChannel& tls = *bytes_.tls();
  if (!tls.is_open()) {
    tls.handshakes().wait(*this);
    return 0;
  }
  const std::span<uint8_t> room(reinterpret_cast<uint8_t*>(space.data()), space.size());
  size_t count = tls.read(room);
  if (count == 0 && !tls.has_ended()) {
    if (!tls.receive()) {
      input_ended_ = true;
      return 0;
    }
    count = tls.read(room);
  }
  if (tls.has_unsent()) watch(EPOLLOUT);
  if (count != 0) return static_cast<ssize_t>(count);
  if (!tls.has_ended()) return 0;
  if (!tls.failure().empty()) return fail(tls.failure());
  input_ended_ = true;
  return 0;
}

void ClientSocket::keep_rest() noexcept {
  TlsChannel& tls = *bytes_.tls();
  if (!tls.is_open() || input_ended_) return;
  tls.keep_rest();
  if (tls.has_rest() || tls.has_ended()) loop_.at_turn_end(*this);
}

bool ClientSocket::flush() noexcept {
  if (bytes_.tls() != nullptr && bytes_.send({}) < 0 && errno != EAGAIN) return false;
  if (!bytes_.has_unsent()) unwatch(EPOLLOUT);
  return true;
}

}  // namespace atl::frontends::http
