// What goes to a client: frames as nghttp2 orders them, with fields and messages that it does not see.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "frontends/grpc_nghttp2/transport/frames/frame_head.h"
#include "frontends/grpc_nghttp2/transport/session.h"

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

int Session::before_frame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_HEADERS) {
    const bool has_data = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0;
    if (frame.headers.cat != NGHTTP2_HCAT_RESPONSE || !has_data) return 0;
    const CallStream* stream = find(frame.hd.stream_id);
    answered_ = stream == nullptr ? MessageEncoding::kIdentity : stream->answer_encoding();
    return 0;
  }
  if (frame.hd.type != NGHTTP2_GOAWAY) return 0;
  // Ours are counted where the reason is known; nghttp2 says so of resets without end.
  if (frame.goaway.error_code != NGHTTP2_NO_ERROR && !failed_) {
    const bool is_reset = frame.goaway.error_code == NGHTTP2_INTERNAL_ERROR;
    context_.counters.count(is_reset ? ClosedFor::kResets : ClosedFor::kHttp2Error);
  }
  if (frame.goaway.error_code != NGHTTP2_COMPRESSION_ERROR || large_headers_ == 0) return 0;
  // nghttp2 takes no value of more than 64 KiB and ends the connection. The client is to see why, before that.
  const std::string answer = metadata_too_large(std::exchange(large_headers_, 0));
  const auto* bytes = reinterpret_cast<const uint8_t*>(answer.data());
  return out_->append({bytes, answer.size()}) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

ssize_t Session::on_send(std::span<const uint8_t> frame) {
  if (out_->is_full()) return NGHTTP2_ERR_WOULDBLOCK;
  if (!send_frame(frame)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  return static_cast<ssize_t>(frame.size());
}

bool Session::send_frame(std::span<const uint8_t> frame) {
  if (frame[3] == NGHTTP2_HEADERS) return send_headers(frame);
  const bool is_last = frame[3] == NGHTTP2_DATA && (frame[4] & NGHTTP2_FLAG_END_STREAM) != 0;
  return is_last ? send_last_data(frame) : out_->append(frame);
}

bool Session::send_headers(std::span<const uint8_t> frame) {
  const std::span<const uint8_t> block = frame.subspan(kFrameHeadBytes);
  if (changes_table(block)) {
    answers_.on_table_size(nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE));
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
bool Session::send_data_head(const uint8_t* head) {
  std::array<uint8_t, kFrameHeadBytes> plain;
  std::copy_n(head, kFrameHeadBytes, plain.begin());
  plain[4] &= static_cast<uint8_t>(~NGHTTP2_FLAG_END_STREAM);
  return out_->append(plain);
}

bool Session::send_end(const CallStream& stream) {
  std::array<uint8_t, kFrameHeadBytes + AnswerBlocks::kMostBytes> made;
  const size_t bytes = answers_.write_end(stream.code(), made.data() + kFrameHeadBytes);
  write_frame_head(bytes, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, stream.id(),
                   made.data());
  return out_->append(std::span<const uint8_t>(made).first(kFrameHeadBytes + bytes));
}

bool Session::send_last_data(std::span<const uint8_t> frame) {
  const CallStream* stream = find(frame_stream(frame.data()));
  if (stream == nullptr) return false;
  const std::span<const uint8_t> data = frame.subspan(kFrameHeadBytes);
  return (data.empty() || (send_data_head(frame.data()) && out_->append(data))) && send_end(*stream);
}

int Session::on_send_data(const nghttp2_frame& frame, const uint8_t* head, size_t length,
                          CallStream& stream) {
  if (!send_data_head(head)) return NGHTTP2_ERR_CALLBACK_FAILURE;
  stream.take_data(length, out_);
  const bool is_end = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  return is_end && !send_end(stream) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

int Session::on_frame_sent(const nghttp2_frame& frame) {
  const bool is_answer = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
  if (is_answer || frame.hd.type == NGHTTP2_WINDOW_UPDATE) {
    last_ping_ns_ = 0;
    ping_strikes_ = 0;
  }
  if (frame.hd.type == NGHTTP2_DATA) on_data_sent(frame);
  if (frame.hd.type == NGHTTP2_RST_STREAM) return on_reset_sent(frame);
  if (!is_answer || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  const CallStream* stream = find(frame.hd.stream_id);
  // Clients that still send are told that nobody reads it; without an error, as they have their answer.
  if (stream != nullptr && !stream->remote_ended()) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
  return 0;
}

}  // namespace atl::frontends::grpc_nghttp2
