#include "frontends/grpc_nghttp2/transport/session/session_output.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "frontends/grpc_nghttp2/transport/frames/frame_head.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Sizes of the client's table, of which nghttp2 writes one or two in front of a list.
constexpr size_t kMostSizesBytes = 16;

/// The list begins with a new size of the client's table (RFC 7541, 6.3).
bool changes_table(std::span<const uint8_t> block) noexcept {
  return !block.empty() && (block[0] & 0xE0) == 0x20;
}

/// A header that changes no table, of at most 126 bytes each.
void add_literal(std::string_view name, std::string_view value, std::string* block) {
  block->push_back('\0');
  for (const std::string_view text : {name, value}) {
    block->push_back(static_cast<char>(text.size()));
    block->append(text);
  }
}

/// A frame that answers the stream with RESOURCE_EXHAUSTED, for a session that makes no more frames of it.
std::string metadata_too_large(int32_t stream) {
  std::string block("\x88", 1);  // :status 200
  add_literal("content-type", "application/grpc", &block);
  add_literal("grpc-status", "8", &block);
  add_literal("grpc-message", "received initial metadata size exceeds limit", &block);
  std::array<uint8_t, kFrameHeadBytes> head;
  write_frame_head(block.size(), NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, stream,
                   head.data());
  return std::string(head.begin(), head.end()) + block;
}

}  // namespace

bool SessionOutput::write(OutQueue* to) noexcept {
  out_ = to;
  const bool is_good = nghttp2_session_send(session_.raw()) == 0;
  out_ = nullptr;
  return is_good;
}

int SessionOutput::before_frame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY) return before_goaway(frame.goaway.error_code);
  const bool has_data = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0;
  const bool is_answer = frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_RESPONSE;
  if (!is_answer || !has_data) return 0;
  CallStream* stream = session_.streams().find(frame.hd.stream_id);
  answered_ = stream == nullptr ? MessageEncoding::kIdentity : stream->writer().encoding();
  return 0;
}

int SessionOutput::before_goaway(uint32_t error_code) {
  // Ours are counted where the reason is known; nghttp2 says so of resets without end.
  if (error_code != NGHTTP2_NO_ERROR && !session_.has_failed()) {
    const bool is_reset = error_code == NGHTTP2_INTERNAL_ERROR;
    session_.context().counters.count(is_reset ? ClosedFor::kResets : ClosedFor::kHttp2Error);
  }
  if (error_code != NGHTTP2_COMPRESSION_ERROR) return 0;
  const int32_t refused = session_.input().take_large_headers();
  if (refused == 0) return 0;
  // nghttp2 takes no value of more than 64 KiB and ends the connection. The client is to see why, before that.
  const std::string answer = metadata_too_large(refused);
  const auto* bytes = reinterpret_cast<const uint8_t*>(answer.data());
  return out_->append({bytes, answer.size()}) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

ssize_t SessionOutput::on_send(std::span<const uint8_t> frame) {
  if (out_->is_full()) return NGHTTP2_ERR_WOULDBLOCK;
  if (!send_frame(frame)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  return static_cast<ssize_t>(frame.size());
}

bool SessionOutput::send_frame(std::span<const uint8_t> frame) {
  if (frame[3] == NGHTTP2_HEADERS) return send_headers(frame);
  const bool is_last = frame[3] == NGHTTP2_DATA && (frame[4] & NGHTTP2_FLAG_END_STREAM) != 0;
  return is_last ? send_last_data(frame) : out_->append(frame);
}

bool SessionOutput::send_headers(std::span<const uint8_t> frame) {
  const std::span<const uint8_t> block = frame.subspan(kFrameHeadBytes);
  if (changes_table(block)) {
    answers_.on_table_size(
        nghttp2_session_get_remote_settings(session_.raw(), NGHTTP2_SETTINGS_HEADER_TABLE_SIZE));
  }
  const std::optional<MessageEncoding> encoding = std::exchange(answered_, std::nullopt);
  if (!encoding) return out_->append(frame);
  if (block.size() > kMostSizesBytes) return false;
  std::array<uint8_t, kFrameHeadBytes + kMostSizesBytes + AnswerBlocks::kMostBytes> made;
  std::copy(frame.begin(), frame.end(), made.begin());
  const size_t fields_bytes = answers_.write_head(*encoding, made.data() + frame.size());
  write_frame_length(block.size() + fields_bytes, made.data());
  return out_->append(std::span<const uint8_t>(made).first(frame.size() + fields_bytes));
}

// For nghttp2 the data are the end of the stream. What a client takes for that are the fields behind them.
bool SessionOutput::send_data_head(const uint8_t* head) {
  std::array<uint8_t, kFrameHeadBytes> plain;
  std::copy_n(head, kFrameHeadBytes, plain.begin());
  plain[4] &= static_cast<uint8_t>(~NGHTTP2_FLAG_END_STREAM);
  return out_->append(plain);
}

bool SessionOutput::send_end(CallStream& stream) {
  std::array<uint8_t, kFrameHeadBytes + AnswerBlocks::kMostBytes> made;
  const size_t bytes = answers_.write_end(stream.writer().code(), made.data() + kFrameHeadBytes);
  write_frame_head(bytes, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, stream.id(),
                   made.data());
  return out_->append(std::span<const uint8_t>(made).first(kFrameHeadBytes + bytes));
}

bool SessionOutput::send_last_data(std::span<const uint8_t> frame) {
  CallStream* stream = session_.streams().find(frame_stream(frame.data()));
  if (stream == nullptr) return false;
  const std::span<const uint8_t> data = frame.subspan(kFrameHeadBytes);
  return (data.empty() || (send_data_head(frame.data()) && out_->append(data))) && send_end(*stream);
}

int SessionOutput::on_send_data(const nghttp2_frame& frame, const uint8_t* head, size_t length,
                                CallStream& stream) {
  if (!send_data_head(head)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  stream.writer().take_data(length, out_);
  const bool is_end = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  return is_end && !send_end(stream) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

int SessionOutput::on_frame_sent(const nghttp2_frame& frame) {
  const bool is_answer = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
  if (is_answer || frame.hd.type == NGHTTP2_WINDOW_UPDATE) session_.limits().on_progress();
  if (frame.hd.type == NGHTTP2_DATA) on_data_sent(frame);
  if (frame.hd.type == NGHTTP2_RST_STREAM) return on_reset_sent(frame);
  if (!is_answer || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  CallStream* stream = session_.streams().find(frame.hd.stream_id);
  // Clients that still send are told that nobody reads it; without an error, as they have their answer.
  if (stream != nullptr && !stream->incoming().remote_ended()) {
    nghttp2_submit_rst_stream(session_.raw(), NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
  return 0;
}

void SessionOutput::on_data_sent(const nghttp2_frame& frame) {
  CallStream* stream = session_.streams().find(frame.hd.stream_id);
  const bool is_short = frame.hd.length < FloodGuard::kTinyBytes;
  session_.limits().guard().on_sent_data(is_short && stream != nullptr && stream->writer().has_unsent());
}

int SessionOutput::on_reset_sent(const nghttp2_frame& frame) {
  const bool is_borne = session_.limits().on_reset_sent(frame.rst_stream.error_code);
  if (!is_borne && !session_.has_failed()) session_.terminate(ClosedFor::kMalformedCalls);
  return 0;
}

}  // namespace atl::frontends::grpc_nghttp2
