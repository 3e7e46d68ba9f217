// How long a connection waits for its client, and what happens when that time is over.
#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "frontends/common/http/connection.h"
#include "frontends/common/http/serving_thread.h"

namespace atl::frontends::http {
namespace {

/// How long a call runs after the end of the client's bytes before the client is probed.
constexpr int64_t kProbeAfterNs = kNsPerSecond;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

int64_t Connection::now_ns() const noexcept { return worker_.server.host.clock().now_ns(); }

void Connection::expect_by(int64_t now, int64_t timeout_ns) noexcept {
  deadline_ns_ = timeout_ns > kNever - now ? kNever : now + timeout_ns;
  progress_bytes_ = 0;
}

void Connection::expect_nothing() noexcept {
  deadline_ns_ = kNever;
  progress_bytes_ = 0;
}

void Connection::expect_request() noexcept {
  const int64_t now = now_ns();
  const int64_t timeout_ns = worker_.server.options.idle_timeout_ns;
  expect_by(now, worker_.leaving() ? std::min(timeout_ns, worker_.leave_by_ns() - now) : timeout_ns);
}

void Connection::expect_answer(int64_t now) noexcept {
  deadline_ns_ = input_ended_ ? now + kProbeAfterNs : kNever;
}

void Connection::await_progress() noexcept {
  if (deadline_ns_ == kNever) expect_by(now_ns(), worker_.server.options.idle_timeout_ns);
}

void Connection::progress(size_t bytes) noexcept {
  progress_bytes_ += bytes;
  const ServerOptions& options = worker_.server.options;
  if (progress_bytes_ >= options.progress_bytes) expect_by(now_ns(), options.idle_timeout_ns);
}

void Connection::tick(int64_t now_ns) noexcept {
  if (now_ns < deadline_ns_) return;
  if (state_ == State::kCall && !answering_) {
    probe();
  } else if (state_ != State::kHead || head_begun_) {
    close();
  } else if (!next_is_here()) {
    linger();
  }
}

bool Connection::send_continue() noexcept {
  const ssize_t sent = ::send(fd_, kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(kContinue.size());
}

void Connection::probe() noexcept {
  deadline_ns_ = kNever;
  if (std::exchange(probed_, true)) return;
  // Whoever closed the whole connection answers this with a reset, which on_ready() sees.
  if (version_ == 11) {
    if (!send_continue()) close();
    return;
  }
  // HTTP/1.0 has no such answer. But each of its answers begins alike, and may begin early.
  sent_ahead_ = 1;
  if (::send(fd_, "H", sent_ahead_, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) close();
}

}  // namespace atl::frontends::http
