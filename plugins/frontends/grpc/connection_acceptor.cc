#include "frontends/grpc/connection_acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <utility>

#include "atoll/core/clock.h"
#include "frontends/common/sockets/tcp_listener.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// How long the listener waits when the process has no descriptor left.
constexpr auto kDescriptorPause = std::chrono::milliseconds(100);
/// How long a socket that opens later waits before the next look whether that is due, or whether the address is free.
constexpr auto kOpeningPause = std::chrono::milliseconds(5), kTakenPause = std::chrono::milliseconds(1000);
/// With the limit reached, one part in so many of the time goes at most into looking which connections have
/// gone.
constexpr int64_t kSweepShare = 10;
constexpr int64_t kLogIntervalNs = 60 * kNsPerSecond;
constexpr int kAtATime = 64;

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// 0: the descriptor is none.
ino_t inode_of(int fd) noexcept {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

}  // namespace

Result<int> ConnectionAcceptor::listen(const ListenAddress& address, const ListenOptions& options) {
  ATOLL_RETURN_IF_ERROR(
      open_listener(address, options, "gRPC", &acceptor_, &listener_.note, &listener_.port));
  return listener_.port;
}

void ConnectionAcceptor::start(std::unique_ptr<Target> target, Opening opening) {
  target_ = std::move(target);
  listener_.opening = std::move(opening);
  open_if_due();
  thread_ = std::thread([this] { io_.run(); });
  pthread_setname_np(thread_.native_handle(), "grpc-accept");
}

void ConnectionAcceptor::close() {
  std::promise<void> closed;
  auto close_now = [&] {
    boost::system::error_code ignored;
    listener_.note.reset();
    acceptor_.close(ignored);
    timer_.cancel(ignored);
    closed.set_value();
  };
  if (!thread_.joinable()) return close_now();
  boost::asio::post(io_, close_now);
  closed.get_future().wait();
}

void ConnectionAcceptor::stop() {
  if (!thread_.joinable()) return;
  close();
  work_.reset();
  thread_.join();
}

void ConnectionAcceptor::open_if_due() {
  const int fd = acceptor_.native_handle();
  const bool is_due = is_listening(fd) || !listener_.opening.is_due || listener_.opening.is_due();
  if (is_due && (is_listening(fd) || start_listening(fd))) {
    listener_.opening.report(listener_.port);
    return wait();
  }
  if (is_due && !std::exchange(paused_, true)) {
    log_.error("gRPC cannot listen yet on port ", listener_.port,
               ", and tries again each second: ", std::strerror(errno));
  }
  timer_.expires_after(is_due ? kTakenPause : kOpeningPause);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && acceptor_.is_open()) open_if_due();
  });
}

void ConnectionAcceptor::wait() {
  acceptor_.async_wait(acceptor_.wait_read, [this](const boost::system::error_code& error) {
    if (!acceptor_.is_open()) return;
    if (error) return pause(error.value());
    accept_all();
  });
}

void ConnectionAcceptor::accept_all() {
  for (int i = 0; i < kAtATime; ++i) {
    const int fd = accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      paused_ = false;
      take(fd);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return pause(errno);
    }
  }
  wait();
}

void ConnectionAcceptor::take(int fd) {
  if (fd >= limit_.descriptor || !has_room()) {
    const int64_t now = steady_ns();
    if (logged_full_ns_ == 0 || now - logged_full_ns_ > kLogIntervalNs) {
      logged_full_ns_ = now;
      log_.warning("gRPC has as many connections as it may have (", open_connections(),
                   "), or the process as many descriptors: further ones are closed");
    }
    ::close(fd);
    return;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  {
    std::lock_guard lock(mutex_);
    if (given_.size() <= static_cast<size_t>(fd)) given_.resize(static_cast<size_t>(fd) + 1);
    ino_t& inode = given_[static_cast<size_t>(fd)];
    if (inode == 0) ++open_;
    inode = inode_of(fd);
  }
  Target::NewConnectionParameters parameters;
  parameters.listener_fd = acceptor_.native_handle();
  parameters.fd = fd;
  target_->HandleNewConnection(&parameters);
}

void ConnectionAcceptor::pause(int error) {
  if (!std::exchange(paused_, true)) {
    log_.warning("gRPC cannot take connections for now: ", std::strerror(error));
  }
  timer_.expires_after(kDescriptorPause);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled && acceptor_.is_open()) wait();
  });
}

bool ConnectionAcceptor::has_room() {
  std::lock_guard lock(mutex_);
  if (open_ < limit_.connections) return true;
  const int64_t now = steady_ns();
  if (now < next_sweep_ns_) return false;
  const size_t left = sweep();
  const int64_t swept = steady_ns();
  next_sweep_ns_ = swept + kSweepShare * (swept - now);
  return left < limit_.connections;
}

size_t ConnectionAcceptor::open_connections() {
  std::lock_guard lock(mutex_);
  return sweep();
}

/// Under the lock.
size_t ConnectionAcceptor::sweep() {
  for (size_t fd = 0; fd < given_.size(); ++fd) {
    if (given_[fd] == 0 || inode_of(static_cast<int>(fd)) == given_[fd]) continue;
    given_[fd] = 0;
    --open_;
  }
  return open_;
}

}  // namespace atl::frontends::grpc_frontend
