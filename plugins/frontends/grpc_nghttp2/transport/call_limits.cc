// What a call may hold, and for how long.
#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"
#include "frontends/grpc_nghttp2/transport/session.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// HTTP/2 counts so much for a field beside its name and value.
constexpr size_t kFieldBytes = 32;

}  // namespace

bool CallStream::count_header(std::string_view name, std::string_view value) noexcept {
  headers_.list_bytes += name.size() + value.size() + kFieldBytes;
  ++headers_.list_count;
  return headers_.list_bytes <= kMuchTooLong * session_->context().settings.max_metadata_bytes;
}

void CallStream::count_messages(std::span<const uint8_t> bytes) noexcept {
  // However far ahead of its answers a client is: small messages are no flood.
  arrived_.scan(bytes, [this](const uint8_t*, uint32_t) { session_->guard().on_message(); });
}

void CallStream::on_whole_message() noexcept {
  has_message_ = true;
  received_bytes_ += StallWatch::kProgressBytes;
  if (held_bytes_ > kOwnBytes + headers_.list_bytes) (void)hold_partial_message();
}

Status CallStream::hold(uint64_t bytes) noexcept {
  const uint64_t before = std::exchange(held_bytes_, bytes);
  if (bytes <= before) {
    session_->held().reduce(before - bytes);
    return {};
  }
  Status status = session_->held().add(bytes - before);
  if (!status.ok()) session_->count(RefusedFor::kMemory);
  return status;
}

void CallStream::end_if_stalled(uint32_t most) noexcept {
  const bool awaits_message = !ended_ && method_ != nullptr &&
                              (method_->reads_several ? wants_next_ && reader_.is_inside() : !begun_);
  if (receiving_.is_stalled(awaits_message, received_bytes_, most)) {
    session_->count(RefusedFor::kMessageStall);
    return end_early(grpc_code(Code::kDeadlineExceeded), "The message of the call did not come in time");
  }
  if (!sending_.is_stalled(!messages_.empty(), messages_.progress_bytes(), most)) return;
  session_->count(RefusedFor::kAnswerStall);
  nghttp2_submit_rst_stream(session_->raw(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_CANCEL);
  session_->output();
}

}  // namespace atl::frontends::grpc_nghttp2
