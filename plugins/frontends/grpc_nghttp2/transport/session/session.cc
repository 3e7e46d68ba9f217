#include "frontends/grpc_nghttp2/transport/session/session.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr int64_t kOrdinaryFrameBytes = 16'384;
constexpr int64_t kLargeFrameBytes = int64_t{256} << 10;

/// What the client is told that its connection is closed for.
std::string_view goaway_text(ClosedFor reason) noexcept {
  switch (reason) {
    case ClosedFor::kMetadata:
      return "metadata_too_large";
    case ClosedFor::kMalformedCalls:
      return "too_many_protocol_errors";
    case ClosedFor::kPings:
      return "too_many_pings";
    case ClosedFor::kResets:
      return "too_many_resets";
    case ClosedFor::kOverheadFrames:
      return "too_many_overhead_frames";
    case ClosedFor::kUnsentFrames:
      return "answers_are_not_read";
    case ClosedFor::kFrameSize:
      return "frame_too_large";
    default:
      return {};
  }
}

// --- nghttp2's callbacks ---

struct SessionCallbacks {
  static Session& self(void* user) noexcept { return *static_cast<Session*>(user); }

  static ssize_t send(nghttp2_session*, const uint8_t* data, size_t length, int, void* user) {
    return self(user).output().on_send({data, length});
  }
  static int send_data(nghttp2_session*, nghttp2_frame* frame, const uint8_t* header, size_t length,
                       nghttp2_data_source* source, void* user) {
    return self(user).output().on_send_data(*frame, header, length, *static_cast<CallStream*>(source->ptr));
  }
  static ssize_t read_length(nghttp2_session*, uint8_t, int32_t id, int32_t session_window,
                             int32_t stream_window, uint32_t max_frame, void* user) {
    CallStream* stream = self(user).streams().find(id);
    const bool is_large = stream != nullptr && stream->writer().sends_large();
    const int64_t most = is_large ? kLargeFrameBytes : kOrdinaryFrameBytes;
    return static_cast<ssize_t>(
        std::min({most, static_cast<int64_t>(session_window), static_cast<int64_t>(stream_window),
                  static_cast<int64_t>(max_frame)}));
  }
  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).input().on_begin_headers(*frame);
  }
  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_bytes,
                    const uint8_t* value, size_t value_bytes, uint8_t, void* user) {
    return self(user).input().on_header(*frame, {reinterpret_cast<const char*>(name), name_bytes},
                                        {reinterpret_cast<const char*>(value), value_bytes});
  }
  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).input().on_frame(*frame);
  }
  static int invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    return self(user).input().on_invalid_frame();
  }
  static int ignored_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                            size_t name_bytes, const uint8_t* value, size_t value_bytes, uint8_t,
                            void* user) {
    return self(user).input().on_ignored_header(*frame, {reinterpret_cast<const char*>(name), name_bytes},
                                                {reinterpret_cast<const char*>(value), value_bytes});
  }
  static int data_chunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t length,
                        void* user) {
    return self(user).input().on_data(id, {data, length});
  }
  static int before_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).output().before_frame(*frame);
  }
  static int frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return self(user).output().on_frame_sent(*frame);
  }
  static int stream_closed(nghttp2_session*, int32_t id, uint32_t, void* user) {
    self(user).streams().close(id);
    return 0;
  }
};

}  // namespace

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
  // Clients with short deadlines rightly reset calls by the thousand. nghttp2 counts frames; SessionLimits
  // counts what was done for nothing.
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  nghttp2_option_set_stream_reset_rate_limit(options_, kAny, kAny);
  return {};
}

// --- the session ---

Session::~Session() {
  nghttp2_session_del(raw_);
  streams_.close_all();
}

Status Session::open() noexcept {
  const SessionSettings& settings = context_.settings;
  const SessionRules& rules = context_.rules;
  if (nghttp2_session_server_new3(&raw_, rules.callbacks(), this, rules.options(), context_.memory) != 0) {
    raw_ = nullptr;
    return make_status(Code::kResourceExhausted, "no memory for an HTTP/2 session");
  }
  streams_.start(raw_);
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initial_window},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.max_frame_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.max_metadata_bytes},
      // Without the old scheme of priorities closed streams are not kept.
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  nghttp2_submit_settings(raw_, NGHTTP2_FLAG_NONE, entries, std::size(entries));
  nghttp2_session_set_local_window_size(raw_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<int32_t>(settings.connection_window));
  announce_output();
  return {};
}

ssize_t Session::receive(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept {
  if (failed_) return -1;
  const ssize_t taken = input_.receive(bytes, chunk);
  announce_output();
  if (taken < 0) on_ended(static_cast<int>(taken));
  if (failed_) return -1;
  input_.pass(bytes.first(static_cast<size_t>(taken)));
  const std::optional<ClosedFor> reason = limits_.verdict(unsent_frames(), streams_.size());
  if (!reason) return taken;
  terminate(*reason);
  return -1;
}

bool Session::write(OutQueue* to) noexcept {
  if (!output_.write(to)) failed_ = true;
  return to->is_full();
}

// --- the end ---

void Session::on_ended(int error) noexcept {
  if (std::exchange(failed_, true)) return;  // by terminate()
  switch (error) {
    case NGHTTP2_ERR_FLOODED:
      return context_.counters.count(ClosedFor::kUnsentFrames);
    case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
      return context_.counters.count(ClosedFor::kContinuations);
    default:
      return context_.counters.count(ClosedFor::kHttp2Error);
  }
}

int Session::terminate(ClosedFor reason) noexcept {
  const std::string_view text = goaway_text(reason);
  nghttp2_submit_goaway(raw_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(raw_),
                        NGHTTP2_ENHANCE_YOUR_CALM, reinterpret_cast<const uint8_t*>(text.data()),
                        text.size());
  failed_ = true;
  context_.counters.count(reason);
  announce_output();
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Session::go_away() noexcept {
  if (std::exchange(going_, true)) return;
  nghttp2_submit_shutdown_notice(raw_);
  // What the client sends before it has seen this it sent without knowing.
  const uint8_t opaque[8] = {'g', 'o', ' ', 'a', 'w', 'a', 'y', ' '};
  nghttp2_submit_ping(raw_, NGHTTP2_FLAG_NONE, opaque);
  announce_output();
}

void Session::ping() noexcept {
  nghttp2_submit_ping(raw_, NGHTTP2_FLAG_NONE, nullptr);
  announce_output();
}

void Session::finish_going() noexcept {
  told_ = false;
  nghttp2_submit_goaway(raw_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(raw_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  announce_output();
}

}  // namespace atl::frontends::grpc_nghttp2
