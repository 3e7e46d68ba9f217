#include "frontends/grpc_nghttp2/transport/session/session_input.h"

#include <utility>

#include "atoll/lib/entry_name.h"
#include "frontends/grpc_nghttp2/transport/frames/frame_head.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// nghttp2 reads no longer value, as it was encoded.
constexpr size_t kMostValueBytes = size_t{64} << 10;

bool has_fields(uint8_t type) noexcept {
  return type == NGHTTP2_HEADERS || type == NGHTTP2_CONTINUATION || type == NGHTTP2_PUSH_PROMISE;
}
bool is_request(const nghttp2_frame& frame) noexcept {
  return frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
}

}  // namespace

// --- what came, to nghttp2 ---

ssize_t SessionInput::receive(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  chunk_ = chunk;
  begun_ = 0;
  if (std::exchange(paused_, false)) on_data(put_off_.id, put_off_.bytes);
  const ssize_t taken = give(bytes);
  chunk_.reset();
  nghttp2_session_consume_connection(session_.raw(), std::exchange(consumed_, 0));
  return taken;
}

void SessionInput::pass(std::span<const uint8_t> bytes) noexcept {
  scanner_.scan(bytes, [this](const FrameHead& frame) {
    session_.limits().guard().on_frame(frame, session_.streams().size());
    if (frame.type != NGHTTP2_CONTINUATION) ++frames_;
  });
}

bool SessionInput::give_until(size_t end, std::span<const uint8_t> bytes, ssize_t* given) noexcept {
  const auto from = static_cast<size_t>(*given);
  if (from == end && !bytes.empty()) return true;
  const ssize_t taken = nghttp2_session_mem_recv(session_.raw(), bytes.data() + from, end - from);
  *given = taken < 0 ? taken : *given + taken;
  return taken == static_cast<ssize_t>(end - from) && !paused_;
}

ssize_t SessionInput::give_repeated(std::span<const uint8_t> frame) noexcept {
  RepeatedHeaders::ShortFrame room;
  const std::span<const uint8_t> shortened = repeated_.shorten(frame, &room);
  reading_ = Reading::kRepeated;
  const ssize_t taken = nghttp2_session_mem_recv(session_.raw(), shortened.data(), shortened.size());
  reading_ = Reading::kPlain;
  return taken < 0 ? taken : static_cast<ssize_t>(frame.size());
}

ssize_t SessionInput::give(std::span<const uint8_t> bytes) noexcept {
  ssize_t given = 0;
  size_t at = scanner_.left();
  if (scanner_.is_in_head()) {  // perhaps of a frame with fields
    repeated_.forget();
    at = bytes.size();
  }
  while (at < bytes.size()) {
    const std::span<const uint8_t> rest = bytes.subspan(at);
    const bool has_head = rest.size() >= kFrameHeadBytes;
    const size_t length = has_head ? frame_length(rest.data()) : 0;
    if (has_head && !has_fields(rest[3])) {
      at += kFrameHeadBytes + length;
      continue;
    }
    if (!has_head || kFrameHeadBytes + length > rest.size()) {
      repeated_.forget();
      break;
    }
    const std::span<const uint8_t> frame = rest.first(kFrameHeadBytes + length);
    const RepeatedHeaders::Seen seen = repeated_.look(frame);
    if (seen != RepeatedHeaders::Seen::kOther && !give_until(at, bytes, &given)) return given;
    at += frame.size();
    if (seen == RepeatedHeaders::Seen::kRepeated) {
      const ssize_t taken = give_repeated(frame);
      if (taken < 0) return taken;
      given += taken;
    } else if (seen == RepeatedHeaders::Seen::kStable) {
      reading_ = Reading::kStable;
      const bool goes_on = give_until(at, bytes, &given);
      reading_ = Reading::kPlain;
      if (!goes_on) return given;
    }
  }
  (void)give_until(bytes.size(), bytes, &given);
  return given;
}

// --- what nghttp2 made of it ---

int SessionInput::on_begin_headers(const nghttp2_frame& frame) {
  inside_headers_ = true;
  if (!is_request(frame)) return 0;
  CallStream& stream = session_.streams().open(session_, frame.hd.stream_id);
  if (reading_ == Reading::kRepeated) {
    stream.incoming().head().repeat(session_.context(), repeated_.headers(), repeated_.path());
  }
  large_headers_ = frame.hd.length > kMostValueBytes ? frame.hd.stream_id : 0;
  return 0;
}

int32_t SessionInput::take_large_headers() noexcept { return std::exchange(large_headers_, 0); }

int SessionInput::on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  if (reading_ == Reading::kRepeated) return 0;
  value = without_blanks(value);
  if (!is_request(frame)) return on_ignored_header(frame, name, value);
  if (reading_ == Reading::kStable) repeated_.on_field(name, value);
  CallStream* stream = session_.streams().find(frame.hd.stream_id);
  const bool is_bearable =
      stream == nullptr || stream->incoming().head().add(session_.context(), name, value);
  return is_bearable ? 0 : session_.terminate(ClosedFor::kMetadata);
}

int SessionInput::on_ignored_header(const nghttp2_frame& frame, std::string_view name,
                                    std::string_view value) {
  reading_ = Reading::kPlain;  // what is not used now is not to be repeated
  CallStream* stream = session_.streams().find(frame.hd.stream_id);
  const bool is_bearable =
      stream == nullptr || stream->incoming().head().count(session_.context(), name, value);
  return is_bearable ? 0 : session_.terminate(ClosedFor::kMetadata);
}

int SessionInput::on_invalid_frame() {
  inside_headers_ = false;
  return session_.limits().on_malformed() ? 0 : session_.terminate(ClosedFor::kMalformedCalls);
}

int SessionInput::on_frame(const nghttp2_frame& frame) {
  inside_headers_ = false;  // nothing else comes within a list of headers
  large_headers_ = 0;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      return on_request(frame);
    case NGHTTP2_DATA:
      if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) break;
      if (CallStream* stream = session_.streams().find(frame.hd.stream_id))
        stream->incoming().on_remote_end();
      break;
    case NGHTTP2_SETTINGS:
      has_settings_ = true;
      break;
    case NGHTTP2_PING:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) {
        session_.on_pong();
      } else if (!session_.limits().on_ping(!session_.streams().empty())) {
        return session_.terminate(ClosedFor::kPings);
      }
      break;
    case NGHTTP2_RST_STREAM:
      return on_reset(frame);
    case NGHTTP2_GOAWAY:
      session_.on_goaway();
      break;
    default:
      break;
  }
  return 0;
}

int SessionInput::on_request(const nghttp2_frame& frame) {
  CallStream* stream = session_.streams().find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    if (session_.limits().is_full_of_calls()) return refuse_call(*stream);
    const IncomingHead& head = stream->incoming().head();
    if (reading_ == Reading::kStable && head.is_good()) repeated_.keep(head.headers());
    session_.limits().guard().on_call();
    stream->on_headers();
  }
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->incoming().on_remote_end();
  return 0;
}

int SessionInput::refuse_call(CallStream& stream) {
  SessionLimits& limits = session_.limits();
  limits.count(RefusedFor::kRunningCalls);
  if (limits.is_piling_up(session_.streams().size()) && !limits.bear_reset()) {
    return session_.terminate(ClosedFor::kResets);
  }
  stream.incoming().refuse();
  nghttp2_submit_rst_stream(session_.raw(), NGHTTP2_FLAG_NONE, stream.id(), NGHTTP2_REFUSED_STREAM);
  return 0;
}

int SessionInput::on_reset(const nghttp2_frame& frame) {
  CallStream* stream = session_.streams().find(frame.hd.stream_id);
  // A call that was read whole has cost its client what any call does. What it still makes the server do counts
  // among those that run, so resetting such calls brings a client no more work than making them.
  if (stream == nullptr || stream->writer().has_ended() || stream->incoming().has_whole_message()) return 0;
  return session_.limits().bear_reset() ? 0 : session_.terminate(ClosedFor::kResets);
}

int SessionInput::on_data(int32_t id, std::span<const uint8_t> bytes) {
  if (begun_ >= session_.context().settings.inline_budget) {
    put_off_ = {id, bytes};
    paused_ = true;
    return NGHTTP2_ERR_PAUSE;
  }
  if (CallStream* stream = session_.streams().find(id); stream != nullptr) {
    stream->incoming().on_data(bytes, chunk_);
  } else {
    nghttp2_session_consume(session_.raw(), id, bytes.size());
  }
  return 0;
}

}  // namespace atl::frontends::grpc_nghttp2
