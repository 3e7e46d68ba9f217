#include "frontends/grpc_nghttp2/transport/call/answer_writer.h"

#include "frontends/grpc_nghttp2/transport/answer_blocks.h"
#include "frontends/grpc_nghttp2/transport/frames/header_codec.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

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

ssize_t read_stream_data(nghttp2_session*, int32_t, uint8_t* to, size_t length, uint32_t* flags,
                         nghttp2_data_source* source, void*) {
  return static_cast<CallStream*>(source->ptr)->writer().read_data(to, length, flags);
}

}  // namespace

void AnswerWriter::send(OutgoingMessage& message) noexcept {
  messages_.push(message);
  submit();
}

void AnswerWriter::add_trailer(std::string_view name, std::string_view value) {
  trailers_.emplace_back(name, name.ends_with("-bin") ? encode_base64(value) : std::string(value));
}

void AnswerWriter::finish(int code, std::string_view text, bool names_encodings) noexcept {
  ended_ = true;
  code_ = code;
  text_ = percent_encoded(text);
  if (!submitted_ && messages_.empty()) {
    submit_headers_only(names_encodings);
  } else {
    submit();
  }
}

void AnswerWriter::cancel() noexcept {
  nghttp2_submit_rst_stream(stream_.session().raw(), NGHTTP2_FLAG_NONE, stream_.id(), NGHTTP2_CANCEL);
  stream_.session().announce_output();
}

void AnswerWriter::submit() noexcept {
  Session& session = stream_.session();
  session.announce_output();
  if (submitted_) {
    if (std::exchange(deferred_, false)) nghttp2_session_resume_data(session.raw(), stream_.id());
    return;
  }
  submitted_ = true;
  nghttp2_data_provider data{};
  data.source.ptr = &stream_;
  data.read_callback = &read_stream_data;
  // The session writes the fields, see AnswerBlocks.
  nghttp2_submit_response(session.raw(), stream_.id(), nullptr, 0, &data);
}

void AnswerWriter::add_end(std::vector<nghttp2_nv>* fields) const {
  fields->push_back(constant("grpc-status", code_text(code_), kNoTable));
  if (!text_.empty()) {
    fields->push_back(field("grpc-message", text_, NGHTTP2_NV_FLAG_NO_COPY_NAME | kNoTable));
  }
  for (const auto& [name, value] : trailers_) fields->push_back(field(name, value, kNoTable));
}

void AnswerWriter::submit_headers_only(bool names_encodings) noexcept {
  Session& session = stream_.session();
  submitted_ = true;
  session.announce_output();
  std::vector<nghttp2_nv> fields = {kStatus, kContentType};
  if (names_encodings) fields.push_back(kAcceptEncoding);
  add_end(&fields);
  nghttp2_submit_response(session.raw(), stream_.id(), fields.data(), fields.size(), nullptr);
}

ssize_t AnswerWriter::read_data(uint8_t* to, size_t length, uint32_t* flags) noexcept {
  Session& session = stream_.session();
  if (session.output().is_full()) return NGHTTP2_ERR_PAUSE;
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
      nghttp2_submit_trailer(session.raw(), stream_.id(), fields.data(), fields.size());
    }
  } else if (frame.bytes == 0) {
    deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(frame.bytes);
}

void AnswerWriter::clear() noexcept {
  ended_ = true;  // while messages tell that they are not needed any more
  messages_.clear();
  sending_.reset();
  encoding_ = MessageEncoding::kIdentity;
  submitted_ = deferred_ = ended_ = false;
  code_ = 0;
  text_.clear();
  trailers_.clear();
}

}  // namespace atl::frontends::grpc_nghttp2
