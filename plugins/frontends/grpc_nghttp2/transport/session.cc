#include "frontends/grpc_nghttp2/transport/session.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "atoll/lib/entry_name.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// nghttp2 reads no longer value, as it was encoded.
constexpr size_t kMostValueBytes = size_t{64} << 10;

}  // namespace

// --- streams that wait ---

CallStream* StreamPool::take() {
  if (kept_.empty()) return new CallStream;
  CallStream* stream = kept_.back().release();
  kept_.pop_back();
  return stream;
}

void StreamPool::give(CallStream* stream) noexcept {
  std::unique_ptr<CallStream> owned(stream);
  if (kept_.size() < kMostKept) kept_.push_back(std::move(owned));
}

// --- nghttp2's callbacks ---

struct SessionCallbacks {
  static Session& self(void* user) noexcept { return *static_cast<Session*>(user); }

  static ssize_t send(nghttp2_session*, const uint8_t* data, size_t length, int, void* user) {
    return self(user).on_send({data, length});
  }
  static int send_data(nghttp2_session*, nghttp2_frame* frame, const uint8_t* header, size_t length,
                       nghttp2_data_source* source, void* user) {
    return self(user).on_send_data(*frame, header, length, *static_cast<CallStream*>(source->ptr));
  }
  static ssize_t read_length(nghttp2_session*, uint8_t, int32_t id, int32_t session_window,
                             int32_t stream_window, uint32_t max_frame, void* user) {
    constexpr int64_t kOrdinaryFrame = 16'384;
    const CallStream* stream = self(user).find(id);
    const bool is_large = stream != nullptr && stream->sends_large();
    const int64_t most = is_large ? static_cast<int64_t>(Session::kLargeFrameBytes) : kOrdinaryFrame;
    return static_cast<ssize_t>(
        std::min({most, static_cast<int64_t>(session_window), static_cast<int64_t>(stream_window),
                  static_cast<int64_t>(max_frame)}));
  }
  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).on_begin_headers(*frame);
  }
  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_bytes,
                    const uint8_t* value, size_t value_bytes, uint8_t, void* user) {
    return self(user).on_header(*frame, {reinterpret_cast<const char*>(name), name_bytes},
                                {reinterpret_cast<const char*>(value), value_bytes});
  }
  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).on_frame(*frame);
  }
  static int invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    return self(user).on_invalid_frame();
  }
  static int ignored_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                            size_t name_bytes, const uint8_t* value, size_t value_bytes, uint8_t,
                            void* user) {
    return self(user).on_ignored_header(*frame, {reinterpret_cast<const char*>(name), name_bytes},
                                        {reinterpret_cast<const char*>(value), value_bytes});
  }
  static int data_chunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t length,
                        void* user) {
    return self(user).on_data(id, {data, length});
  }
  static int before_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).before_frame(*frame);
  }
  static int frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).on_frame_sent(*frame);
  }
  static int stream_closed(nghttp2_session*, int32_t id, uint32_t, void* user) {
    self(user).on_stream_closed(id);
    return 0;
  }
};

Status SessionRules::open() noexcept {
  if (nghttp2_session_callbacks_new(&callbacks_) != 0 || nghttp2_option_new(&options_) != 0) {
    return make_status(Code::kResourceExhausted, "no memory for HTTP/2 sessions");
  }
  using On = SessionCallbacks;
  nghttp2_session_callbacks_set_send_callback(callbacks_, &On::send);
  nghttp2_session_callbacks_set_send_data_callback(callbacks_, &On::send_data);
  nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks_, &On::read_length);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks_, &On::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks_, &On::header);
  nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks_, &On::ignored_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks_, &On::frame_received);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks_, &On::invalid_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks_, &On::data_chunk);
  nghttp2_session_callbacks_set_before_frame_send_callback(callbacks_, &On::before_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks_, &On::frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks_, &On::stream_closed);
  nghttp2_option_set_no_auto_window_update(options_, 1);
  // Blanks around a value are no part of it: they are taken off, and the value is not.
  nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options_, 1);
  // Clients with short deadlines rightly reset calls by the thousand. nghttp2 counts frames; Session::on_reset()
  // counts what was done for nothing.
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  nghttp2_option_set_stream_reset_rate_limit(options_, kAny, kAny);
  return {};
}

// --- the session ---

Session::~Session() {
  nghttp2_session_del(session_);
  while (!streams_.empty()) {
    CallStream& stream = streams_.front();
    streams_.pop_front();
    stream.on_closed();
    context_.counters.call_ends();
    context_.streams.give(&stream);
  }
}

Status Session::open() noexcept {
  const SessionSettings& settings = context_.settings;
  const SessionRules& rules = context_.rules;
  if (nghttp2_session_server_new3(&session_, rules.callbacks(), this, rules.options(), context_.memory) !=
      0) {
    session_ = nullptr;
    return make_status(Code::kResourceExhausted, "no memory for an HTTP/2 session");
  }
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initial_window},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.max_frame_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.max_metadata_bytes},
      // Without the old scheme of priorities closed streams are not kept.
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries, std::size(entries));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<int32_t>(settings.connection_window));
  owner_.on_output();
  return {};
}

ssize_t Session::receive(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  if (failed_) return -1;
  chunk_ = chunk;
  begun_ = 0;
  if (std::exchange(paused_, false)) on_data(put_off_.id, put_off_.bytes);
  const ssize_t taken = give(bytes);
  chunk_.reset();
  nghttp2_session_consume_connection(session_, std::exchange(consumed_, 0));
  owner_.on_output();
  if (taken < 0) on_ended(static_cast<int>(taken));
  if (failed_ || is_flood(bytes.first(static_cast<size_t>(taken)))) return -1;
  return taken;
}

MessageRoom Session::message_room(int32_t stream) noexcept {
  CallStream* const found = find(stream);
  return found == nullptr ? MessageRoom() : found->message_room();
}

size_t Session::messages_end(int32_t stream, size_t count, std::span<const uint8_t> data) noexcept {
  const CallStream* const found = stream == 0 ? nullptr : find(stream);
  return found == nullptr ? 0 : found->messages_end(count, data);
}

bool Session::write(OutQueue* to) noexcept {
  out_ = to;
  if (nghttp2_session_send(session_) != 0) failed_ = true;
  out_ = nullptr;
  return to->is_full();
}

CallTicket Session::ticket() noexcept { return CallTicket(running_); }

int Session::on_begin_headers(const nghttp2_frame& frame) {
  inside_headers_ = true;
  if (frame.hd.type != NGHTTP2_HEADERS || frame.headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  CallStream* stream = context_.streams.take();
  stream->start(*this, frame.hd.stream_id);
  found_ = stream;
  if (reading_ == Reading::kRepeated) stream->on_repeated_headers(repeated_.headers(), repeated_.path());
  context_.counters.call_begins();
  large_headers_ = frame.hd.length > kMostValueBytes ? frame.hd.stream_id : 0;
  streams_.push_back(*stream);
  nghttp2_session_set_stream_user_data(session_, frame.hd.stream_id, stream);
  return 0;
}

int Session::on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  if (reading_ == Reading::kRepeated) return 0;
  value = without_blanks(value);
  if (frame.hd.type != NGHTTP2_HEADERS || frame.headers.cat != NGHTTP2_HCAT_REQUEST) {
    return on_ignored_header(frame, name, value);
  }
  if (reading_ == Reading::kStable) repeated_.on_field(name, value);
  CallStream* stream = find(frame.hd.stream_id);
  return stream == nullptr || stream->on_header(name, value) ? 0 : terminate(ClosedFor::kMetadata);
}

int Session::on_frame(const nghttp2_frame& frame) {
  inside_headers_ = false;  // nothing else comes within a list of headers
  large_headers_ = 0;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      return on_request(frame);
    case NGHTTP2_DATA:
      if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) break;
      if (CallStream* stream = find(frame.hd.stream_id)) stream->on_remote_end();
      break;
    case NGHTTP2_SETTINGS:
      has_settings_ = true;
      break;
    case NGHTTP2_PING:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) == 0) return on_ping();
      if (going_) told_ = true;
      break;
    case NGHTTP2_RST_STREAM:
      return on_reset(frame);
    case NGHTTP2_GOAWAY:
      client_leaves_ = true;
      break;
    default:
      break;
  }
  return 0;
}

int Session::on_request(const nghttp2_frame& frame) {
  CallStream* stream = find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    if (running_->count >= context_.settings.max_streams) {
      count(RefusedFor::kRunningCalls);
      // Where most of what runs was reset, the client makes work pile up.
      const bool piles_up = running_->count >= streams_.size() + context_.settings.max_streams / 2;
      if (piles_up && !bear_reset()) return terminate(ClosedFor::kResets);
      stream->refuse();
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_REFUSED_STREAM);
      return 0;
    }
    if (reading_ == Reading::kStable && stream->has_good_headers()) repeated_.keep(stream->headers());
    guard_.on_call();
    stream->on_headers();
  }
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->on_remote_end();
  return 0;
}

int Session::on_data(int32_t id, std::span<const uint8_t> bytes) {
  if (begun_ >= context_.settings.inline_budget) {
    put_off_ = {id, bytes};
    paused_ = true;
    return NGHTTP2_ERR_PAUSE;
  }
  if (CallStream* stream = find(id); stream != nullptr) {
    stream->on_data(bytes, chunk_);
  } else {
    nghttp2_session_consume(session_, id, bytes.size());
  }
  return 0;
}

void Session::on_stream_closed(int32_t id) noexcept {
  CallStream* stream = find(id);
  if (stream == nullptr) return;
  found_ = nullptr;
  nghttp2_session_set_stream_user_data(session_, id, nullptr);
  streams_.erase(streams_.iterator_to(*stream));
  stream->on_closed();
  context_.streams.give(stream);
  context_.counters.call_ends();
}

// --- the end ---

void Session::go_away() noexcept {
  if (std::exchange(going_, true)) return;
  nghttp2_submit_shutdown_notice(session_);
  // What the client sends before it has seen this it sent without knowing.
  const uint8_t opaque[8] = {'g', 'o', ' ', 'a', 'w', 'a', 'y', ' '};
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, opaque);
  owner_.on_output();
}

void Session::ping() noexcept {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  owner_.on_output();
}

void Session::finish_going() noexcept {
  told_ = false;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  owner_.on_output();
}

}  // namespace atl::frontends::grpc_nghttp2
