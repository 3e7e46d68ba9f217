#include "frontends/common/http/client/client_deadline.h"

#include <algorithm>

#include "frontends/common/http/serving_thread.h"

namespace atl::frontends::http {
namespace {

/// How long a call runs after the end of the client's bytes before the client is probed.
constexpr int64_t kProbeAfterNs = kNsPerSecond;

}  // namespace

int64_t ClientDeadline::now_ns() const noexcept { return worker_.server.host.clock().now_ns(); }

void ClientDeadline::expect_by(int64_t now, int64_t timeout_ns) noexcept {
  deadline_ns_ = timeout_ns > kNever - now ? kNever : now + timeout_ns;
  progress_bytes_ = 0;
}

void ClientDeadline::expect_request() noexcept {
  const int64_t now = now_ns();
  const int64_t timeout_ns = worker_.server.options.idle_timeout_ns;
  expect_by(now, worker_.leaving() ? std::min(timeout_ns, worker_.leave_by_ns() - now) : timeout_ns);
}

void ClientDeadline::expect_answer(int64_t now, bool input_ended) noexcept {
  deadline_ns_ = input_ended ? now + kProbeAfterNs : kNever;
}

void ClientDeadline::await_progress() noexcept {
  if (deadline_ns_ == kNever) expect_by(now_ns(), worker_.server.options.idle_timeout_ns);
}

void ClientDeadline::progress(size_t bytes) noexcept {
  progress_bytes_ += bytes;
  const ServerOptions& options = worker_.server.options;
  if (progress_bytes_ >= options.progress_bytes) expect_by(now_ns(), options.idle_timeout_ns);
}

}  // namespace atl::frontends::http
