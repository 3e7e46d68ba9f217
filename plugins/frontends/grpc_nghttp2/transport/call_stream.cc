#include "frontends/grpc_nghttp2/transport/call_stream.h"

#include <limits>

#include "frontends/common/codec/error_map.h"
#include "frontends/grpc_nghttp2/transport/answer_blocks.h"
#include "frontends/grpc_nghttp2/transport/frames/header_codec.h"
#include "frontends/grpc_nghttp2/transport/session.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr int kUnknown = 2;
constexpr int kDeadlineExceeded = 4;
constexpr int kResourceExhausted = 8;
constexpr int kUnimplemented = 12;
constexpr int kInternal = 13;

nghttp2_nv field(std::string_view name, std::string_view value, uint8_t flags) noexcept {
  auto* name_bytes = reinterpret_cast<uint8_t*>(const_cast<char*>(name.data()));
  auto* value_bytes = reinterpret_cast<uint8_t*>(const_cast<char*>(value.data()));
  return {name_bytes, value_bytes, name.size(), value.size(), flags};
}
/// Both are literals.
nghttp2_nv constant(std::string_view name, std::string_view value,
                    uint8_t flags = NGHTTP2_NV_FLAG_NONE) noexcept {
  return field(name, value,
               static_cast<uint8_t>(NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE | flags));
}

/// What nghttp2 writes is never to go to the client's table, where AnswerBlocks knows its places.
constexpr uint8_t kNoTable = NGHTTP2_NV_FLAG_NO_INDEX;
const nghttp2_nv kStatus = constant(":status", "200");
const nghttp2_nv kContentType = constant("content-type", "application/grpc", kNoTable);
const nghttp2_nv kAcceptEncoding = constant("grpc-accept-encoding", "identity, deflate, gzip", kNoTable);

/// 0: none that is known.
uint32_t encoding_bit(std::string_view name) noexcept {
  if (name == "identity") return static_cast<uint32_t>(MessageEncoding::kIdentity);
  if (name == "gzip") return static_cast<uint32_t>(MessageEncoding::kGzip);
  return name == "deflate" ? static_cast<uint32_t>(MessageEncoding::kDeflate) : 0;
}

/// Calls `use` with each part of a list that commas separate, without blanks.
template <class Use>
void for_each_part(std::string_view list, Use use) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view part = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    use(part);
  }
}

ssize_t read_stream_data(nghttp2_session*, int32_t, uint8_t* to, size_t length, uint32_t* flags,
                         nghttp2_data_source* source, void*) {
  return static_cast<CallStream*>(source->ptr)->read_data(to, length, flags);
}

}  // namespace

std::string CallStream::peer() const { return session_->owner().peer(); }
EventLoop& CallStream::loop() noexcept { return session_->context().loop; }
BufferPool& CallStream::buffers() noexcept { return session_->context().buffers; }

void CallStream::start(Session& session, int32_t id) noexcept {
  session_ = &session;
  id_ = id;
}

// --- headers ---

bool CallStream::on_header(std::string_view name, std::string_view value) noexcept {
  const SessionSettings& settings = session_->context().settings;
  const bool is_bearable = count_header(name, value);
  if (headers_.list_bytes > settings.max_metadata_bytes ||
      headers_.list_count > settings.max_metadata_fields) {
    if (refusal_code_ == 0) session_->count(RefusedFor::kMetadata);
    refuse_header(kResourceExhausted, "received initial metadata size exceeds limit");
    return is_bearable;
  }
  if (name.starts_with(':')) {
    read_pseudo_header(name, value);
  } else if (name == "te") {
    headers_.has_te = true;  // nghttp2 has seen to its value
  } else if (name != "content-type" && !(name.starts_with("grpc-") && read_grpc_header(name, value))) {
    add_metadata(name, value);
  }
  return true;
}

void CallStream::on_repeated_headers(const CallHeaders& headers, std::string_view path) {
  headers_ = headers;
  method_ = session_->context().methods.find(path);
}

void CallStream::read_pseudo_header(std::string_view name, std::string_view value) noexcept {
  if (name == ":path") {
    method_ = session_->context().methods.find(value);
  } else if (name == ":method") {
    headers_.is_post = value == "POST";
  }
}

bool CallStream::read_grpc_header(std::string_view name, std::string_view value) noexcept {
  if (name == "grpc-timeout") {
    headers_.timeout_ns = parse_timeout_ns(value).value_or(-1);
  } else if (name == "grpc-encoding") {
    const uint32_t bit = encoding_bit(value);
    if (bit == 0) {
      refuse_header(kUnimplemented,
                    cat("grpc-encoding '", value, "' is not supported, expected identity, deflate or gzip"));
    } else {
      headers_.encoding = static_cast<MessageEncoding>(bit);
      headers_.has_encoding = headers_.encoding != MessageEncoding::kIdentity;
    }
  } else if (name == "grpc-accept-encoding") {
    for_each_part(value, [this](std::string_view part) { headers_.accepted |= encoding_bit(part); });
  } else {
    return false;
  }
  return true;
}

void CallStream::add_metadata(std::string_view name, std::string_view value) {
  if (!name.ends_with("-bin")) return headers_.metadata.add(name, value);
  for_each_part(value, [this, name](std::string_view part) {
    const std::optional<std::string> bytes = decode_base64(part);
    if (bytes) return headers_.metadata.add(name, *bytes);
    refuse_header(kInternal, cat("Error parsing '", name, "' metadata: illegal base64 encoding"));
  });
}

void CallStream::refuse_header(int code, std::string text) noexcept {
  if (refusal_code_ != 0) return;
  refusal_code_ = code;
  refusal_ = std::move(text);
}

bool CallStream::is_refused() noexcept {
  if (refusal_code_ == 0 && !headers_.is_post) refuse_header(kUnknown, "Bad method header");
  if (refusal_code_ == 0 && !headers_.has_te) refuse_header(kUnknown, "Missing :te header");
  if (refusal_code_ == 0 && method_ == nullptr) refuse_header(kUnimplemented, {});
  if (refusal_code_ == 0 && headers_.timeout_ns == 0) refuse_header(kDeadlineExceeded, "Deadline Exceeded");
  return refusal_code_ != 0;
}

void CallStream::on_headers() noexcept {
  began_ns_ = loop().now_ns();
  held_metadata_bytes_ = headers_.metadata.bytes();
  const bool fits = session_->hold_metadata(static_cast<int64_t>(held_metadata_bytes_));
  if (const Status held = hold(kOwnBytes + headers_.list_bytes); !held.ok()) {
    refuse_header(kResourceExhausted, std::string(held.message()));
  } else if (!fits) {
    session_->count(RefusedFor::kMetadata);
    refuse_header(kResourceExhausted,
                  "received initial metadata of all calls of the connection exceeds limit");
  }
  if (is_refused()) {
    drop_metadata();
    return finish(refusal_code_, refusal_);
  }
  if (headers_.timeout_ns > 0 && headers_.timeout_ns < std::numeric_limits<int64_t>::max() - began_ns_) {
    deadline_ns_ = began_ns_ + headers_.timeout_ns;
    loop().set(*this, deadline_ns_);
  }
  ticket_ = session_->ticket();
  if (method_->reads_several) begin_method({});
}

/// The client may leave the stream open for as long as it likes.
void CallStream::drop_metadata() noexcept {
  session_->hold_metadata(-static_cast<int64_t>(std::exchange(held_metadata_bytes_, 0)));
  headers_.metadata.clear();
  (void)hold(kOwnBytes);
}

void CallStream::begin_method(Message message) noexcept {
  begun_ = true;
  session_->count_begun();
  method_->begin(*this, std::move(message));
}

void CallStream::on_time() noexcept {
  if (!ended_) end_early(kDeadlineExceeded, "Deadline Exceeded");
}

void CallStream::end_early(int code, std::string_view text) noexcept {
  let_call_go();
  messages_.drop();
  finish(code, text);
}

// --- messages in ---

void CallStream::on_data(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  nghttp2_session* const raw = session_->raw();
  session_->count_consumed(bytes.size());
  received_bytes_ += bytes.size();
  if (ended_ || method_ == nullptr || (begun_ && !method_->reads_several)) {
    nghttp2_session_consume_stream(raw, id_, bytes.size());  // nobody reads it
    return;
  }
  if (method_->reads_several) {
    count_messages(bytes);
    return read_messages(bytes, chunk);
  }
  const size_t size = bytes.size();
  Message message;
  Result<bool> whole = reader_.read(&bytes, chunk, limits(), buffers(), &message);
  if (!whole.ok()) return fail(whole.status());
  if (!whole.value()) {
    nghttp2_session_consume_stream(raw, id_, size);
    if (const Status held = hold_partial_message(); !held.ok()) fail(held);
    return;
  }
  on_whole_message();
  begin_method(std::move(message));
}

MessageLimits CallStream::limits() const noexcept {
  return {method_->max_message_bytes, headers_.has_encoding, session_->context().budgets,
          method_->reads_several};
}

MessageRoom CallStream::message_room() noexcept {
  if (ended_ || method_ == nullptr || unread_.size() != 0) return {};
  return reader_.room(limits(), buffers());
}

void CallStream::on_remote_end() noexcept {
  remote_ended_ = true;
  if (ended_ || method_ == nullptr) return;
  if (method_->reads_several) return read_messages({}, nullptr);
  if (!begun_) finish(kInternal, "Unable to parse request");
}

void CallStream::read_next() noexcept {
  wants_next_ = true;
  if (!is_reading_) read_messages({}, nullptr);
}

void CallStream::read_messages(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  if (is_reading_ || ended_) return;
  is_reading_ = true;
  // What came before goes first.
  if (unread_.size() > unread_at_) {
    const std::span<const uint8_t> before = unread_.bytes().subspan(unread_at_);
    const std::span<const uint8_t> left = take_messages(before, nullptr);
    unread_at_ += before.size() - left.size();
    if (unread_at_ == unread_.size()) {
      unread_.clear();
      unread_at_ = 0;
      unread_charge_.release();
    }
  }
  if (unread_.size() == 0) bytes = take_messages(bytes, chunk);
  if (!bytes.empty()) keep_unread(bytes);
  is_reading_ = false;
  // A message that the end of the stream has cut is none.
  if (remote_ended_ && wants_next_ && !ended_ && call_ != nullptr) {
    wants_next_ = false;
    call_->on_half_close();
  }
}

std::span<const uint8_t> CallStream::take_messages(std::span<const uint8_t> bytes,
                                                   const ChunkRef& chunk) noexcept {
  const size_t before = bytes.size();
  while (wants_next_ && !ended_ && call_ != nullptr && !bytes.empty()) {
    Message message;
    Result<bool> whole = reader_.read(&bytes, chunk, limits(), buffers(), &message);
    if (!whole.ok()) {
      let_call_go();
      fail(whole.status());
      break;
    }
    if (!whole.value()) {
      if (const Status held = hold_partial_message(); !held.ok()) {
        let_call_go();
        fail(held);
      }
      break;
    }
    on_whole_message();
    wants_next_ = false;
    call_->on_message(std::move(message));
  }
  nghttp2_session_consume_stream(session_->raw(), id_, before - bytes.size());
  if (before != bytes.size()) session_->output();  // perhaps the client may send more
  return bytes;
}

void CallStream::keep_unread(std::span<const uint8_t> bytes) noexcept {
  if (ended_) return;
  const RequestBudgets* budgets = session_->context().budgets;
  if (budgets != nullptr) unread_charge_.set_source(*budgets);
  Status charged = unread_charge_.cover(unread_.size() + bytes.size());
  if (charged.ok() && !unread_.append(bytes.data(), bytes.size())) {
    charged = make_status(Code::kResourceExhausted, "no memory for what has come");
  }
  if (charged.ok()) return;
  let_call_go();
  fail(charged);
}

// --- the answer ---

void CallStream::fail(const Status& status) noexcept { finish(grpc_code(status.code()), status.message()); }

void CallStream::answer(OutgoingMessage& message) noexcept {
  call_ = nullptr;
  ended_ = true;
  Timer::unset();
  messages_.push(message);
  submit();
}

void CallStream::send(OutgoingMessage& message) noexcept {
  messages_.push(message);
  submit();
}

void CallStream::add_trailer(std::string_view name, std::string_view value) {
  trailers_.emplace_back(name, name.ends_with("-bin") ? encode_base64(value) : std::string(value));
}

void CallStream::finish(int code, std::string_view text) noexcept {
  if (ended_) return;
  call_ = nullptr;
  ended_ = true;
  Timer::unset();
  reader_.reset(buffers());
  code_ = code;
  text_ = percent_encoded(text);
  if (!submitted_ && messages_.empty()) {
    submit_headers_only();
  } else {
    submit();
  }
}

void CallStream::cancel() noexcept {
  if (ended_) return;
  let_call_go();
  ended_ = true;
  Timer::unset();
  reader_.reset(buffers());
  messages_.drop();
  nghttp2_submit_rst_stream(session_->raw(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_CANCEL);
  session_->output();
}

void CallStream::submit() noexcept {
  session_->output();
  if (submitted_) {
    if (std::exchange(deferred_, false)) nghttp2_session_resume_data(session_->raw(), id_);
    return;
  }
  submitted_ = true;
  nghttp2_data_provider data{};
  data.source.ptr = this;
  data.read_callback = &read_stream_data;
  // The session writes the fields, see AnswerBlocks.
  nghttp2_submit_response(session_->raw(), id_, nullptr, 0, &data);
}

void CallStream::add_end(std::vector<nghttp2_nv>* fields) const {
  fields->push_back(constant("grpc-status", code_text(code_), kNoTable));
  if (!text_.empty()) {
    fields->push_back(field("grpc-message", text_, NGHTTP2_NV_FLAG_NO_COPY_NAME | kNoTable));
  }
  for (const auto& [name, value] : trailers_) fields->push_back(field(name, value, kNoTable));
}

void CallStream::submit_headers_only() noexcept {
  submitted_ = true;
  session_->output();
  std::vector<nghttp2_nv> fields = {kStatus, kContentType};
  if (refusal_code_ == kUnimplemented) fields.push_back(kAcceptEncoding);
  add_end(&fields);
  nghttp2_submit_response(session_->raw(), id_, fields.data(), fields.size(), nullptr);
}

ssize_t CallStream::read_data(uint8_t* to, size_t length, uint32_t* flags) noexcept {
  if (session_->is_full()) return NGHTTP2_ERR_PAUSE;
  const MessageQueue::Frame frame = messages_.fill(to, length);
  if (!frame.is_copied) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (frame.is_last && ended_) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    // The session writes a plain end together with the frame. Others are submitted here, as anywhere else they could
    // overtake the data.
    if (!text_.empty() || !trailers_.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      std::vector<nghttp2_nv> fields;
      add_end(&fields);
      nghttp2_submit_trailer(session_->raw(), id_, fields.data(), fields.size());
    }
  } else if (frame.bytes == 0) {
    deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(frame.bytes);
}

// --- the end ---

void CallStream::let_call_go() noexcept {
  if (Call* call = std::exchange(call_, nullptr); call != nullptr) call->on_gone();
}

void CallStream::on_closed() noexcept {
  ended_ = true;
  let_call_go();
  messages_.clear();
  Timer::unset();
  reader_.reset(buffers());
  if (unread_.capacity() != 0) buffers().give(std::exchange(unread_, BodyBuffer()));
  unread_at_ = 0;
  unread_charge_.release();
  ticket_.release();
  arrived_ = LengthScanner<5, 1, 4>();
  if (held_metadata_bytes_ != 0) drop_metadata();
  if (held_bytes_ != 0) (void)hold(0);
  received_bytes_ = 0;
  receiving_.reset();
  sending_.reset();
  headers_.clear();
  method_ = nullptr;
  begun_ = remote_ended_ = has_message_ = false;
  answer_encoding_ = MessageEncoding::kIdentity;
  deadline_ns_ = 0;
  refusal_code_ = 0;
  refusal_.clear();
  wants_next_ = is_reading_ = false;
  submitted_ = deferred_ = ended_ = false;
  code_ = 0;
  text_.clear();
  trailers_.clear();
}

}  // namespace atl::frontends::grpc_nghttp2
