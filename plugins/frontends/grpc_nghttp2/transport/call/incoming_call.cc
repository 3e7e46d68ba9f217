#include "frontends/grpc_nghttp2/transport/call/incoming_call.h"

#include <utility>

#include "frontends/common/codec/error_map.h"
#include "frontends/grpc_nghttp2/transport/frames/grpc_code.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"

namespace atl::frontends::grpc_nghttp2 {

// --- headers ---

bool IncomingCall::on_headers() noexcept {
  SessionLimits& limits = stream_.session().limits();
  const CallHeaders& headers = head_.headers();
  const bool fits = memory_.hold_metadata(limits, headers.metadata.bytes());
  if (const Status held = hold_message(); !held.ok()) {
    head_.refuse(kGrpcResourceExhausted, std::string(held.message()));
  } else if (!fits) {
    limits.count(RefusedFor::kMetadata);
    head_.refuse(kGrpcResourceExhausted,
                 "received initial metadata of all calls of the connection exceeds limit");
  }
  if (!head_.is_refused()) return true;
  // The client may leave the stream open for as long as it likes.
  memory_.hold_metadata(limits, 0);
  head_.drop_metadata();
  (void)memory_.hold(limits, CallMemory::kOwnBytes);
  return false;
}

void IncomingCall::begin_method(Message message) noexcept {
  begun_ = true;
  stream_.session().input().count_begun();
  head_.method()->begin(stream_, std::move(message));
}

// --- messages ---

void IncomingCall::on_data(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  Session& session = stream_.session();
  session.input().count_consumed(bytes.size());
  received_bytes_ += bytes.size();
  if (stream_.writer().has_ended() || head_.method() == nullptr || (begun_ && !head_.reads_several())) {
    nghttp2_session_consume_stream(session.raw(), stream_.id(), bytes.size());  // nobody reads it
    return;
  }
  if (head_.reads_several()) {
    // However far ahead of its answers a client is: small messages are no flood.
    arrived_.scan(bytes, [&session](const uint8_t*, uint32_t) { session.limits().guard().on_message(); });
    return read_messages(bytes, chunk);
  }
  const size_t size = bytes.size();
  Message message;
  Result<bool> whole = reader_.read(&bytes, chunk, limits(), session.context().buffers, &message);
  if (!whole.ok()) return fail(whole.status());
  if (!whole.value()) {
    nghttp2_session_consume_stream(session.raw(), stream_.id(), size);
    if (const Status held = hold_message(); !held.ok()) fail(held);
    return;
  }
  on_whole_message();
  begin_method(std::move(message));
}

MessageLimits IncomingCall::limits() const noexcept {
  const Method& method = *head_.method();
  return {method.max_message_bytes, head_.headers().has_encoding, stream_.session().context().budgets,
          method.reads_several};
}

Status IncomingCall::hold_message() noexcept {
  const uint64_t bytes = CallMemory::kOwnBytes + head_.headers().list_bytes + reader_.uncounted_bytes();
  return memory_.hold(stream_.session().limits(), bytes);
}

void IncomingCall::on_whole_message() noexcept {
  has_message_ = true;
  received_bytes_ += StallWatch::kProgressBytes;
  if (memory_.bytes() > CallMemory::kOwnBytes + head_.headers().list_bytes) (void)hold_message();
}

MessageRoom IncomingCall::message_room() noexcept {
  if (stream_.writer().has_ended() || head_.method() == nullptr || !unread_.empty()) return {};
  return reader_.room(limits(), stream_.session().context().buffers);
}

void IncomingCall::on_remote_end() noexcept {
  remote_ended_ = true;
  if (stream_.writer().has_ended() || head_.method() == nullptr) return;
  if (head_.reads_several()) return read_messages({}, nullptr);
  if (!begun_) stream_.finish(kGrpcInternal, "Unable to parse request");
}

void IncomingCall::read_next() noexcept {
  wants_next_ = true;
  if (!is_reading_) read_messages({}, nullptr);
}

void IncomingCall::read_messages(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  if (is_reading_ || stream_.writer().has_ended()) return;
  is_reading_ = true;
  // What came before goes first.
  if (!unread_.empty()) {
    const std::span<const uint8_t> before = unread_.bytes();
    unread_.skip(before.size() - take_messages(before, nullptr).size());
  }
  if (unread_.empty()) bytes = take_messages(bytes, chunk);
  if (!bytes.empty() && !stream_.writer().has_ended()) {
    if (const Status kept = unread_.add(bytes, stream_.session().context().budgets); !kept.ok()) fail(kept);
  }
  is_reading_ = false;
  // A message that the end of the stream has cut is none.
  if (remote_ended_ && wants_next_ && !stream_.writer().has_ended() && call_ != nullptr) {
    wants_next_ = false;
    call_->on_half_close();
  }
}

std::span<const uint8_t> IncomingCall::take_messages(std::span<const uint8_t> bytes,
                                                     const ChunkRef& chunk) noexcept {
  Session& session = stream_.session();
  const size_t before = bytes.size();
  while (wants_next_ && !stream_.writer().has_ended() && call_ != nullptr && !bytes.empty()) {
    Message message;
    Result<bool> whole = reader_.read(&bytes, chunk, limits(), session.context().buffers, &message);
    if (!whole.ok()) {
      fail(whole.status());
      break;
    }
    if (!whole.value()) {
      if (const Status held = hold_message(); !held.ok()) fail(held);
      break;
    }
    on_whole_message();
    wants_next_ = false;
    call_->on_message(std::move(message));
  }
  nghttp2_session_consume_stream(session.raw(), stream_.id(), before - bytes.size());
  if (before != bytes.size()) session.announce_output();  // perhaps the client may send more
  return bytes;
}

void IncomingCall::fail(const Status& status) noexcept {
  let_go();
  stream_.finish(grpc_code(status.code()), status.message());
}

bool IncomingCall::is_stalled(uint32_t most) noexcept {
  const bool awaits_message = !stream_.writer().has_ended() && head_.method() != nullptr &&
                              (head_.reads_several() ? wants_next_ && reader_.is_inside() : !begun_);
  return receiving_.is_stalled(awaits_message, received_bytes_, most);
}

// --- the end ---

void IncomingCall::let_go() noexcept {
  if (Call* call = std::exchange(call_, nullptr); call != nullptr) call->on_gone();
}

void IncomingCall::stop() noexcept {
  call_ = nullptr;
  if (reader_.is_inside()) reader_.reset(stream_.session().context().buffers);
}

void IncomingCall::clear() noexcept {
  Session& session = stream_.session();
  reader_.reset(session.context().buffers);
  unread_.clear(session.context().buffers);
  arrived_.reset();
  memory_.clear(session.limits());
  received_bytes_ = 0;
  receiving_.reset();
  head_.clear();
  begun_ = remote_ended_ = has_message_ = wants_next_ = is_reading_ = false;
}

}  // namespace atl::frontends::grpc_nghttp2
