#include "frontends/grpc_nghttp2/transport/connection_times.h"

#include <utility>

#include "frontends/grpc_nghttp2/transport/connection.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Times within call_stall_timeout that calls are looked at.
constexpr uint32_t kLooksAtCalls = 4;

}  // namespace

void ConnectionTimes::start() noexcept {
  watch_headers();
  on_read();
  loop_.set(quiet_, last_read_ns_ + settings_.keepalive_time_ns);
  if (settings_.max_age_ns == 0) return;
  // Clients that came together do not leave together: a tenth more or less, by what differs between them.
  const int64_t spread = settings_.max_age_ns / 10;
  const int64_t part = static_cast<int64_t>(reinterpret_cast<uintptr_t>(&connection_) / 64 % 201) - 100;
  loop_.set(age_, last_read_ns_ + settings_.max_age_ns + spread * part / 100);
}

void ConnectionTimes::await_room() noexcept {
  if (stall_.is_set()) return;
  taken_bytes_ = 0;
  loop_.set(stall_, loop_.now_ns() + settings_.write_stall_timeout_ns);
}

void ConnectionTimes::await_end() noexcept {
  for (Limit* limit : {&headers_, &quiet_, &age_, &calls_}) limit->unset();
  await_going();
}

void ConnectionTimes::watch_headers() noexcept {
  const SessionInput& input = session_.input();
  if (!input.awaits_headers()) {
    headers_.unset();
  } else if (!headers_.is_set() || awaited_frame_ != input.awaited_frame()) {
    awaited_frame_ = input.awaited_frame();
    loop_.set(headers_, loop_.now_ns() + settings_.header_timeout_ns);
  }
}

void ConnectionTimes::watch_calls() noexcept {
  if (session_.streams().empty()) return;
  loop_.set(calls_, loop_.now_ns() + settings_.call_stall_timeout_ns / kLooksAtCalls);
}

// --- what is done when a time is over ---

void ConnectionTimes::on_headers_late() noexcept { connection_.close_for(ClosedFor::kHeaderTimeout); }

void ConnectionTimes::on_stall() noexcept { connection_.close_for(ClosedFor::kWriteStall); }

void ConnectionTimes::on_going_over() noexcept {
  if (connection_.lingers()) return connection_.close();
  session_.finish_going();
}

void ConnectionTimes::on_quiet() noexcept {
  const int64_t now = loop_.now_ns();
  const int64_t due = last_read_ns_ + settings_.keepalive_time_ns;
  if (now < due) {
    pinged_ = false;
    return loop_.set(quiet_, due);
  }
  if (pinged_) return connection_.close_for(ClosedFor::kKeepalive);
  if (session_.streams().empty() && !settings_.keepalive_without_calls) {
    return loop_.set(quiet_, now + settings_.keepalive_time_ns);
  }
  pinged_ = true;
  session_.ping();
  loop_.set(quiet_, now + settings_.keepalive_timeout_ns);
}

void ConnectionTimes::on_age() noexcept {
  if (std::exchange(is_old_, true)) return connection_.shut_down();
  connection_.go_away();
  if (settings_.max_age_grace_ns != 0) loop_.set(age_, loop_.now_ns() + settings_.max_age_grace_ns);
}

void ConnectionTimes::on_look_at_calls() noexcept {
  session_.streams().end_stalled(kLooksAtCalls);
  watch_calls();
}

}  // namespace atl::frontends::grpc_nghttp2
