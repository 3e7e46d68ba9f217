// What a session bears of its client.
#include <algorithm>
#include <utility>

#include "frontends/grpc_nghttp2/transport/session.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// What the client is told that its connection is closed for.
std::string_view goaway_text(ClosedFor reason) noexcept {
  switch (reason) {
    case ClosedFor::kMetadata:
      return "metadata_too_large";
    case ClosedFor::kMalformedCalls:
      return "too_many_protocol_errors";
    case ClosedFor::kPings:
      return "too_many_pings";
    case ClosedFor::kResets:
      return "too_many_resets";
    case ClosedFor::kOverheadFrames:
      return "too_many_overhead_frames";
    case ClosedFor::kUnsentFrames:
      return "answers_are_not_read";
    case ClosedFor::kFrameSize:
      return "frame_too_large";
    default:
      return {};
  }
}

}  // namespace

bool Session::is_flood(std::span<const uint8_t> bytes) noexcept {
  scanner_.scan(bytes, [this](const FrameHead& frame) {
    guard_.on_frame(frame, streams_.size());
    if (frame.type != NGHTTP2_CONTINUATION) ++frames_;
  });
  std::optional<ClosedFor> reason = guard_.verdict(context_.loop.now_ns());
  if (unsent_frames() > kMostUnsentFrames + kUnsentFramesOfCall * streams_.size())
    reason = ClosedFor::kUnsentFrames;
  if (reason) terminate(*reason);
  return reason.has_value();
}

/// nghttp2 has given up, without a word to the client.
void Session::on_ended(int error) noexcept {
  if (std::exchange(failed_, true)) return;  // by terminate()
  switch (error) {
    case NGHTTP2_ERR_FLOODED:
      return context_.counters.count(ClosedFor::kUnsentFrames);
    case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
      return context_.counters.count(ClosedFor::kContinuations);
    default:
      return context_.counters.count(ClosedFor::kHttp2Error);
  }
}

int Session::on_ignored_header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  reading_ = Reading::kPlain;  // what is not used now is not to be repeated
  CallStream* stream = find(frame.hd.stream_id);
  return stream == nullptr || stream->count_header(name, value) ? 0 : terminate(ClosedFor::kMetadata);
}

int Session::on_invalid_frame() {
  inside_headers_ = false;
  ++counted_resets_;
  count(RefusedFor::kMalformed);
  if (++protocol_errors_ <= context_.settings.max_protocol_errors) return 0;
  return terminate(ClosedFor::kMalformedCalls);
}

int Session::on_ping() {
  constexpr int64_t kWithoutCallsNs = 2 * 3600 * kNsPerSecond;
  const SessionSettings& settings = context_.settings;
  if (settings.max_ping_strikes == 0) return 0;
  const bool is_idle = streams_.empty() && !settings.pings_without_calls;
  const int64_t interval = is_idle ? kWithoutCallsNs : settings.ping_interval_ns;
  const int64_t now = context_.loop.now_ns();
  const int64_t last = std::exchange(last_ping_ns_, now);
  if (last == 0 || now - last >= interval || ++ping_strikes_ <= settings.max_ping_strikes) return 0;
  return terminate(ClosedFor::kPings);
}

int Session::on_reset(const nghttp2_frame& frame) {
  const CallStream* stream = find(frame.hd.stream_id);
  // A call that was read whole has cost its client what any call does. What it still makes the server do counts
  // among those that run, so resetting such calls brings a client no more work than making them.
  if (stream == nullptr || stream->is_answered() || stream->has_whole_message()) return 0;
  return bear_reset() ? 0 : terminate(ClosedFor::kResets);
}

bool Session::bear_reset() noexcept {
  const SessionSettings& settings = context_.settings;
  const int64_t now = context_.loop.now_ns();
  const double forgotten = static_cast<double>(now - std::exchange(reset_ns_, now)) / kNsPerSecond;
  resets_ = std::max(0.0, resets_ - forgotten * settings.resets_a_second) + 1;
  // All calls that there can be may time out at once.
  return resets_ <= settings.max_streams + settings.resets_a_second;
}

void Session::on_data_sent(const nghttp2_frame& frame) {
  const CallStream* stream = find(frame.hd.stream_id);
  const bool is_short = frame.hd.length < FloodGuard::kTinyBytes;
  guard_.on_sent_data(is_short && stream != nullptr && stream->has_unsent());
}

int Session::on_reset_sent(const nghttp2_frame& frame) {
  // nghttp2 does not say what it resets calls for in the middle of their data.
  switch (frame.rst_stream.error_code) {
    case NGHTTP2_NO_ERROR:
    case NGHTTP2_REFUSED_STREAM:
    case NGHTTP2_CANCEL:
      return 0;
    default:
      break;
  }
  if (counted_resets_ != 0) {
    --counted_resets_;
    return 0;
  }
  count(RefusedFor::kMalformed);
  if (++protocol_errors_ > context_.settings.max_protocol_errors && !failed_) {
    terminate(ClosedFor::kMalformedCalls);
  }
  return 0;
}

int Session::terminate(ClosedFor reason) noexcept {
  const std::string_view text = goaway_text(reason);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_ENHANCE_YOUR_CALM, reinterpret_cast<const uint8_t*>(text.data()),
                        text.size());
  failed_ = true;
  context_.counters.count(reason);
  owner_.on_output();
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Session::end_stalled_calls(uint32_t most) noexcept {
  for (CallStream& stream : streams_) stream.end_if_stalled(most);
}

}  // namespace atl::frontends::grpc_nghttp2
