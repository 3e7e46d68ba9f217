// How nghttp2 is given what a client sends.
#include "frontends/grpc_nghttp2/transport/frames/frame_head.h"
#include "frontends/grpc_nghttp2/transport/session.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

bool has_fields(uint8_t type) noexcept {
  return type == NGHTTP2_HEADERS || type == NGHTTP2_CONTINUATION || type == NGHTTP2_PUSH_PROMISE;
}

}  // namespace

bool Session::give_until(size_t end, std::span<const uint8_t> bytes, ssize_t* given) noexcept {
  const auto from = static_cast<size_t>(*given);
  if (from == end && !bytes.empty()) return true;
  const ssize_t taken = nghttp2_session_mem_recv(session_, bytes.data() + from, end - from);
  *given = taken < 0 ? taken : *given + taken;
  return taken == static_cast<ssize_t>(end - from) && !paused_;
}

ssize_t Session::give_repeated(std::span<const uint8_t> frame) noexcept {
  RepeatedHeaders::ShortFrame room;
  const std::span<const uint8_t> shortened = repeated_.shorten(frame, &room);
  reading_ = Reading::kRepeated;
  const ssize_t taken = nghttp2_session_mem_recv(session_, shortened.data(), shortened.size());
  reading_ = Reading::kPlain;
  return taken < 0 ? taken : static_cast<ssize_t>(frame.size());
}

ssize_t Session::give(std::span<const uint8_t> bytes) noexcept {
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

}  // namespace atl::frontends::grpc_nghttp2
