#include "frontends/grpc_nghttp2/transport/session/session_limits.h"

#include <algorithm>
#include <utility>

#include "frontends/grpc_nghttp2/transport/call/incoming_head.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Frames beside data that may wait for a client to read them, and those beside of each call.
constexpr size_t kMostUnsentFrames = 1000;
constexpr size_t kUnsentFramesOfCall = 4;

uint64_t most_encoded_headers(const SessionSettings& settings) noexcept {
  // No encoding needs more than what it says, and a frame may be full of padding.
  return IncomingHead::kMuchTooLong * settings.max_metadata_bytes + settings.max_frame_bytes;
}

}  // namespace

SessionLimits::SessionLimits(SessionContext& context) noexcept
    : context_(context),
      running_(new RunningCalls),
      held_(context.budgets),
      guard_(context.settings.overhead_a_second, most_encoded_headers(context.settings),
             context.loop.now_ns()) {}

std::optional<ClosedFor> SessionLimits::verdict(size_t unsent_frames, size_t open_calls) noexcept {
  const std::optional<ClosedFor> reason = guard_.verdict(context_.loop.now_ns());
  if (unsent_frames > kMostUnsentFrames + kUnsentFramesOfCall * open_calls) return ClosedFor::kUnsentFrames;
  return reason;
}

bool SessionLimits::on_reset_sent(uint32_t error_code) noexcept {
  // nghttp2 does not say what it resets calls for in the middle of their data.
  switch (error_code) {
    case NGHTTP2_NO_ERROR:
    case NGHTTP2_REFUSED_STREAM:
    case NGHTTP2_CANCEL:
      return true;
    default:
      break;
  }
  if (counted_resets_ == 0) return bear_error();
  --counted_resets_;
  return true;
}

bool SessionLimits::on_ping(bool has_calls) noexcept {
  constexpr int64_t kWithoutCallsNs = 2 * 3600 * kNsPerSecond;
  const SessionSettings& settings = context_.settings;
  if (settings.max_ping_strikes == 0) return true;
  const bool is_idle = !has_calls && !settings.pings_without_calls;
  const int64_t interval = is_idle ? kWithoutCallsNs : settings.ping_interval_ns;
  const int64_t now = context_.loop.now_ns();
  const int64_t last = std::exchange(last_ping_ns_, now);
  return last == 0 || now - last >= interval || ++ping_strikes_ <= settings.max_ping_strikes;
}

bool SessionLimits::bear_reset() noexcept {
  const SessionSettings& settings = context_.settings;
  const int64_t now = context_.loop.now_ns();
  const double forgotten = static_cast<double>(now - std::exchange(reset_ns_, now)) / kNsPerSecond;
  resets_ = std::max(0.0, resets_ - forgotten * settings.resets_a_second) + 1;
  // All calls that there can be may time out at once.
  return resets_ <= settings.max_streams + settings.resets_a_second;
}

}  // namespace atl::frontends::grpc_nghttp2
