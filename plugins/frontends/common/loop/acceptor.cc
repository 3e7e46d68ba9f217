#include "frontends/common/loop/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace atl::frontends {
namespace {

/// How long the listener waits when the process has no descriptor left.
constexpr int64_t kDescriptorPauseNs = 100 * kNsPerMs;
/// How long a socket that opens later waits before the next look whether that is due, or whether the address is free.
constexpr int64_t kOpeningPauseNs = 5 * kNsPerMs, kTakenPauseNs = kNsPerSecond;
/// Connections taken in one turn, so that those that are there have theirs.
constexpr int kAtATime = 64;

}  // namespace

int Acceptor::accept_one(int listening) {
  return accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

Status Acceptor::open(ListeningSocket socket, Opening opening) noexcept {
  fd_ = socket.fd;
  port_ = socket.port;
  note_ = std::move(socket.note);
  opening_ = std::move(opening);
  waits_ = !is_listening(fd_);
  if (waits_) {
    open_if_due();
    return {};
  }
  Status status = loop_.watch(fd_, EPOLLIN, *this);
  watched_ = status.ok();
  if (watched_) {
    opening_.report(port_);
  } else {
    close();
  }
  return status;
}

void Acceptor::open_if_due() noexcept {
  if (opening_.is_due && !opening_.is_due()) return loop_.set(*this, loop_.now_ns() + kOpeningPauseNs);
  if (!start_listening(fd_)) {
    if (!std::exchange(told_, true)) {
      log_.error(who_, " cannot listen yet on port ", port_,
                 ", and tries again each second: ", std::strerror(errno));
    }
    return loop_.set(*this, loop_.now_ns() + kTakenPauseNs);
  }
  waits_ = told_ = false;
  opening_.report(port_);
  resume();
}

void Acceptor::on_time() noexcept {
  if (waits_) return open_if_due();
  resume();
}

void Acceptor::close() noexcept {
  Timer::unset();
  if (fd_ < 0) return;
  note_.reset();
  waits_ = false;
  // Another instance may have a descriptor of the same socket, so closing this one would leave it watched.
  if (std::exchange(watched_, false)) loop_.forget(fd_, *this);
  ::close(std::exchange(fd_, -1));
}

void Acceptor::pause() noexcept {
  if (fd_ >= 0 && std::exchange(watched_, false)) loop_.forget(fd_, *this);
}

void Acceptor::resume() noexcept {
  if (fd_ < 0 || waits_ || watched_) return;
  watched_ = loop_.watch(fd_, EPOLLIN, *this).ok();
  if (!watched_) loop_.set(*this, loop_.now_ns() + kDescriptorPauseNs);
}

void Acceptor::on_ready(uint32_t) noexcept {
  for (int i = 0; i < kAtATime && watched_; ++i) {
    const int fd = accept_(fd_);
    if (fd >= 0) {
      told_ = false;
      take_(fd);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) continue;
    if (!std::exchange(told_, true)) {
      log_.warning(who_, " cannot take connections for now: ", std::strerror(errno));
    }
    pause();
    loop_.set(*this, loop_.now_ns() + kDescriptorPauseNs);
    return;
  }
}

}  // namespace atl::frontends
