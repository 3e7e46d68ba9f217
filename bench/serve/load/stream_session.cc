#include "stream_session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

/// Large enough that flow control never holds an answer up.
constexpr int32_t kWindow = 1 << 30;
/// A gRPC message's head: one byte for compression, four for the length.
constexpr size_t kHeadSize = 5;

int64_t now_us() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
}

std::string_view text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  // nghttp2 copies names and values and does not write to them; its struct has no const.
  const auto bytes = [](std::string_view view) {
    return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(view.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

size_t message_size(const std::string& received) {
  size_t size = 0;
  for (size_t i = 1; i < kHeadSize; ++i) size = size << 8 | static_cast<uint8_t>(received[i]);
  return kHeadSize + size;
}

}  // namespace

StreamSession::StreamSession(const std::string& authority, const std::string& path,
                             const std::string& message, int streams, int in_flight)
    : message_(message), streams_(static_cast<size_t>(streams)) {
  completions_.reserve(1 << 20);
  open_session(authority, path);
  for (Stream& stream : streams_) {
    for (int i = 0; i < in_flight; ++i) add_request(stream, now_us());
  }
}

void StreamSession::open_session(const std::string& authority, const std::string& path) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &StreamSession::on_data);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &StreamSession::on_header);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &StreamSession::on_close);
  nghttp2_session* session = nullptr;
  nghttp2_session_client_new(&session, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  session_.reset(session);

  const std::array<nghttp2_settings_entry, 2> settings{
      {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow}, {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindow);
  const std::array<nghttp2_nv, 6> headers{field(":method", "POST"),
                                          field(":scheme", "http"),
                                          field(":authority", authority),
                                          field(":path", path),
                                          field("content-type", "application/grpc"),
                                          field("te", "trailers")};
  for (Stream& stream : streams_) {
    nghttp2_data_provider provider{{.ptr = &stream}, &StreamSession::on_read};
    stream.id = nghttp2_submit_request(session, nullptr, headers.data(), headers.size(), &provider, &stream);
    if (stream.id < 0) throw std::runtime_error("cannot open a stream");
    ++open_;
  }
}

bool StreamSession::receive(const uint8_t* bytes, size_t size) {
  const ssize_t taken = nghttp2_session_mem_recv(session_.get(), bytes, size);
  if (taken < 0) fail(nghttp2_strerror(static_cast<int>(taken)));
  return failure_.empty();
}

bool StreamSession::collect(std::string* out) {
  while (true) {
    const uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size == 0) return true;
    if (size < 0) {
      fail(nghttp2_strerror(static_cast<int>(size)));
      return false;
    }
    out->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
}

void StreamSession::fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
}

ssize_t StreamSession::on_read(nghttp2_session* /*session*/, int32_t /*id*/, uint8_t* buffer, size_t room,
                               uint32_t* flags, nghttp2_data_source* source, void* user_data) {
  auto& stream = *static_cast<Stream*>(source->ptr);
  const auto& self = *static_cast<StreamSession*>(user_data);
  const std::string& message = self.message_;
  if (stream.done) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return 0;
  }
  if (stream.to_send == 0) return NGHTTP2_ERR_DEFERRED;
  size_t filled = 0;
  while (stream.to_send != 0 && filled < room) {
    const size_t size = std::min(room - filled, message.size() - stream.sent);
    std::memcpy(buffer + filled, message.data() + stream.sent, size);
    filled += size;
    stream.sent += size;
    if (stream.sent < message.size()) break;
    stream.sent = 0;
    --stream.to_send;
  }
  return static_cast<ssize_t>(filled);
}

int StreamSession::on_data(nghttp2_session* session, uint8_t /*flags*/, int32_t id, const uint8_t* data,
                           size_t size, void* self) {
  auto& stream = *static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  stream.received.append(text(data, size));
  while (stream.received.size() >= kHeadSize && stream.received.size() >= message_size(stream.received)) {
    static_cast<StreamSession*>(self)->take_answer(stream);
  }
  return 0;
}

void StreamSession::add_request(Stream& stream, int64_t now) {
  stream.starts_us.push_back(now);
  ++stream.to_send;
}

void StreamSession::take_answer(Stream& stream) {
  const std::string answer = stream.received.substr(0, message_size(stream.received));
  stream.received.erase(0, answer.size());
  if (answer_.empty()) answer_ = answer;
  if (answer != answer_) fail("two answers to the same request differ");
  if (stream.starts_us.empty()) return fail("an answer came to no request");
  const int64_t now = now_us();
  completions_.push_back({stream.starts_us.front(), now - stream.starts_us.front()});
  stream.starts_us.pop_front();
  if (!stopped_) {
    add_request(stream, now);
  } else if (stream.starts_us.empty()) {
    stream.done = true;
  }
  nghttp2_session_resume_data(session_.get(), stream.id);
}

int StreamSession::on_header(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                             const uint8_t* name, size_t name_size, const uint8_t* value, size_t value_size,
                             uint8_t /*flags*/, void* self) {
  const std::string_view key = text(name, name_size);
  const std::string_view content = text(value, value_size);
  if ((key == ":status" && content != "200") || (key == "grpc-status" && content != "0") ||
      key == "grpc-message") {
    static_cast<StreamSession*>(self)->fail(std::string(key) + " " + std::string(content));
  }
  return 0;
}

int StreamSession::on_close(nghttp2_session* /*session*/, int32_t /*id*/, uint32_t error, void* user_data) {
  auto& self = *static_cast<StreamSession*>(user_data);
  if (!self.stopped_ || error != NGHTTP2_NO_ERROR) {
    self.fail("the server ended a stream, error " + std::to_string(error));
  }
  --self.open_;
  return 0;
}

}  // namespace bench
