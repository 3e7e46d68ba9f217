#include "frontends/grpc_nghttp2/departure.h"

#include <algorithm>

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// How long a server that is replaced waits for clients that were told to go and neither call nor leave.
constexpr int64_t kLeaveGraceNs = 5 * kNsPerSecond;
constexpr int64_t kLookIntervalNs = 10 * kNsPerMs;

}  // namespace

void Departure::begin(int64_t deadline_ns, bool exiting) {
  deadline_ns_ = deadline_ns;
  exiting_ = exiting;
  if (exiting) {
    calls_.close();
  } else {
    server_.close_listener();
    calls_.count_calls();
    server_.go_away();
  }
  server_.workers().front()->run([this] {
    quiet_since_ns_ = loop_.now_ns();
    begun_ = calls_.begun();
    loop_.set(*this, loop_.now_ns() + kLookIntervalNs);
  });
}

void Departure::on_time() noexcept {
  const int64_t now = loop_.now_ns();
  if (now >= deadline_ns_) {
    calls_.close();
    return server_.close_connections();
  }
  if (exiting_) return loop_.set(*this, deadline_ns_);
  if (calls_.calls() > 0 || calls_.begun() != begun_) quiet_since_ns_ = now;
  begun_ = calls_.begun();
  if (server_.open_connections() == 0 || now - quiet_since_ns_ > kLeaveGraceNs) {
    calls_.close();
    return loop_.set(*this, deadline_ns_);
  }
  loop_.set(*this, std::min(now + kLookIntervalNs, deadline_ns_));
}

}  // namespace atl::frontends::grpc_nghttp2
