#include "frontends/grpc_nghttp2/client/client_stream.h"

#include <charconv>

#include "atoll/core/text.h"
#include "frontends/common/codec/error_map.h"
#include "frontends/grpc_nghttp2/client/client_connection.h"
#include "frontends/grpc_nghttp2/transport/frames/header_codec.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Where an answer has no status of gRPC, by that of HTTP.
Code code_of_http(std::string_view status) noexcept {
  if (status == "401") return Code::kUnauthenticated;
  if (status == "403") return Code::kPermissionDenied;
  if (status == "404") return Code::kUnimplemented;
  const bool passes = status == "429" || status == "502" || status == "503" || status == "504";
  return passes ? Code::kUnavailable : Code::kUnknown;
}

/// Where a stream ended without an answer.
Code code_of_reset(uint32_t error_code) noexcept {
  switch (error_code) {
    case NGHTTP2_REFUSED_STREAM:
      return Code::kUnavailable;
    case NGHTTP2_CANCEL:
      return Code::kCancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return Code::kResourceExhausted;
    default:
      return Code::kInternal;
  }
}

/// What the service says, and not the transport.
bool is_of_service(std::string_view name) noexcept {
  return !name.starts_with(':') && !name.starts_with("grpc-") && name != "content-type";
}

}  // namespace

// --- out ---

void ClientStream::send(OutgoingMessage& message) noexcept {
  if (connection_ == nullptr || ends_sending_) {
    message.hold();
    message.let_go();
    return;
  }
  messages_.push(message);
  if (std::exchange(deferred_, false)) nghttp2_session_resume_data(connection_->raw(), id_);
  connection_->output();
}

void ClientStream::end_sending() noexcept {
  if (std::exchange(ends_sending_, true) || connection_ == nullptr) return;
  if (std::exchange(deferred_, false)) nghttp2_session_resume_data(connection_->raw(), id_);
  connection_->output();
}

ssize_t ClientStream::read_data(uint8_t* to, size_t length, uint32_t* flags) noexcept {
  if (connection_->is_full()) return NGHTTP2_ERR_PAUSE;
  const MessageQueue::Frame frame = messages_.fill(to, length);
  if (!frame.is_copied) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (frame.is_last && ends_sending_) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    sent_all_ = true;
  } else if (frame.bytes == 0) {
    deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(frame.bytes);
}

void ClientStream::reset(uint32_t error_code) noexcept {
  if (connection_ == nullptr) return;
  ends_sending_ = true;
  messages_.drop();
  nghttp2_submit_rst_stream(connection_->raw(), NGHTTP2_FLAG_NONE, id_, error_code);
  connection_->output();
}

void ClientStream::cancel() noexcept {
  call_ = nullptr;
  received_.clear();
  reset(NGHTTP2_CANCEL);
}

// --- in ---

void ClientStream::on_data(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  unconsumed_bytes_ += bytes.size();
  const MessageLimits limits = connection_->message_limits();
  while (call_ != nullptr && !is_ended_ && !bytes.empty()) {
    Message message;
    Result<bool> whole = reader_.read(&bytes, chunk, limits, connection_->buffers(), &message);
    if (!whole.ok()) {
      end(grpc_code(whole.status().code()),
          cat("a message of the other server is not taken: ", whole.status().message()));
      reset(NGHTTP2_CANCEL);
      break;
    }
    if (whole.value()) received_.push_back(std::move(message));
  }
  deliver();
}

void ClientStream::read_next() noexcept {
  wants_next_ = true;
  deliver();
}

void ClientStream::deliver() noexcept {
  if (is_delivering_) return;
  const std::shared_ptr<ClientStream> self = shared_from_this();
  is_delivering_ = true;
  while (wants_next_ && call_ != nullptr && !received_.empty()) {
    wants_next_ = false;
    Message message = std::move(received_.front());
    received_.pop_front();
    call_->on_client_message(std::move(message));
  }
  is_delivering_ = false;
  if (!received_.empty()) return;
  if (connection_ != nullptr && unconsumed_bytes_ != 0) {
    nghttp2_session_consume_stream(connection_->raw(), id_, std::exchange(unconsumed_bytes_, 0));
    connection_->output();
  }
  if (is_ended_ && wants_next_ && call_ != nullptr)
    std::exchange(call_, nullptr)->on_client_end(std::move(end_));
}

// --- the end ---

void ClientStream::end(int code, std::string text) noexcept {
  if (std::exchange(is_ended_, true)) return;
  end_.code = code;
  end_.text = std::move(text);
}

void ClientStream::keep_trailers() noexcept {
  for (auto& [name, value] : fields_) {
    if (!is_of_service(name)) continue;
    if (!name.ends_with("-bin")) {
      end_.trailers.emplace_back(std::move(name), std::move(value));
    } else if (auto bytes = decode_base64(value)) {
      end_.trailers.emplace_back(std::move(name), std::move(*bytes));
    }
  }
}

void ClientStream::on_remote_end() noexcept {
  const std::shared_ptr<ClientStream> self = shared_from_this();
  std::string_view http, status, text;
  for (const auto& [name, value] : fields_) {
    if (name == ":status") http = value;
    if (name == "grpc-status") status = value;
    if (name == "grpc-message") text = value;
  }
  int code = grpc_code(code_of_http(http));
  const auto [last, error] = std::from_chars(status.data(), status.data() + status.size(), code);
  if (error == std::errc() && last == status.data() + status.size()) {
    end(code, percent_decoded(text));
    keep_trailers();
  } else {
    end(code, cat("the other server answered without a status of gRPC, with ",
                  http.empty() ? "none of HTTP" : http));
  }
  if (!sent_all_) reset(NGHTTP2_NO_ERROR);  // nobody there reads it
  deliver();
}

void ClientStream::on_closed(uint32_t error_code) noexcept {
  const std::shared_ptr<ClientStream> self = shared_from_this();
  connection_ = nullptr;
  messages_.clear();
  end(grpc_code(code_of_reset(error_code)),
      cat("the other server has reset the call: ", nghttp2_http2_strerror(error_code)));
  deliver();
}

void ClientStream::on_lost(const Status& reason) noexcept {
  const std::shared_ptr<ClientStream> self = shared_from_this();
  connection_ = nullptr;
  messages_.clear();
  end(grpc_code(reason.code()), std::string(reason.message()));
  deliver();
}

}  // namespace atl::frontends::grpc_nghttp2
