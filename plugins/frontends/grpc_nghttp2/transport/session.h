/// HTTP/2 as gRPC uses it, on one connection, without its socket.
#pragma once

#include <nghttp2/nghttp2.h>

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontends/common/call/buffer_pool.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/grpc_nghttp2/transport/answer_blocks.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"
#include "frontends/grpc_nghttp2/transport/flood_guard.h"
#include "frontends/grpc_nghttp2/transport/frames/frame_scanner.h"
#include "frontends/grpc_nghttp2/transport/frames/repeated_headers.h"
#include "frontends/grpc_nghttp2/transport/held_bytes.h"
#include "frontends/grpc_nghttp2/transport/out_queue.h"
#include "frontends/grpc_nghttp2/transport/transport_counters.h"

namespace atl::frontends::grpc_nghttp2 {

/// What connections allow. In the units of HTTP/2's settings.
struct SessionSettings {
  uint32_t max_streams = 1024;
  uint32_t initial_window = 4u << 20;
  uint32_t connection_window = 16u << 20;
  uint32_t max_frame_bytes = 1u << 20;
  uint32_t max_metadata_bytes = 64u << 10;
  uint32_t max_metadata_fields = 100;
  /// Of all open calls of a connection together; HPACK lets a few bytes stand for many.
  uint64_t max_held_metadata_bytes = uint64_t{8} << 20;
  uint32_t max_protocol_errors = 100;  ///< streams that we had to reset
  /// By the client, of calls that have no answer and were not read whole, after max_streams of them.
  uint32_t resets_a_second = 100;
  int64_t ping_interval_ns = 300 * kNsPerSecond;  ///< a PING sooner after the last one is a strike
  bool pings_without_calls = false;               ///< else the interval is two hours then
  uint32_t max_ping_strikes = 2;                  ///< 0: any number
  uint32_t overhead_a_second = 1000;  ///< frames that bring nothing, beside what calls give room for
  uint32_t inline_budget = 64;        ///< calls begun before what they have answered is written
};

/// Streams that wait to be used again. Of one thread.
class StreamPool {
 public:
  CallStream* take();
  void give(CallStream* stream) noexcept;

 private:
  static constexpr size_t kMostKept = 256;
  std::vector<std::unique_ptr<CallStream>> kept_;
};

/// How nghttp2 is to behave, the same for all sessions.
class SessionRules {
 public:
  SessionRules() noexcept = default;
  SessionRules(const SessionRules&) = delete;
  SessionRules& operator=(const SessionRules&) = delete;
  ~SessionRules() {
    nghttp2_session_callbacks_del(callbacks_);
    nghttp2_option_del(options_);
  }
  /// Once. Errors: RESOURCE_EXHAUSTED no memory.
  Status open() noexcept;
  const nghttp2_session_callbacks* callbacks() const noexcept { return callbacks_; }
  const nghttp2_option* options() const noexcept { return options_; }

 private:
  nghttp2_session_callbacks* callbacks_ = nullptr;
  nghttp2_option* options_ = nullptr;
};

/// What the sessions of one thread share.
struct SessionContext {
  EventLoop& loop;
  const SessionRules& rules;
  MethodFinder& methods;
  const SessionSettings& settings;
  BufferPool& buffers;
  StreamPool& streams;
  const RequestBudgets* budgets = nullptr;  ///< null: memory of requests is not counted
  nghttp2_mem* memory = nullptr;            ///< null: the C library's
  BufferPool frames{};                      ///< for what goes to sockets
  TransportCounters counters{};
};

/// A session's connection.
class SessionOwner {
 public:
  /// There is something for write().
  virtual void on_output() noexcept = 0;
  virtual std::string peer() const = 0;

 protected:
  ~SessionOwner() = default;
};

/// All functions on the loop's thread.
class Session {
 public:
  Session(SessionContext& context, SessionOwner& owner) noexcept
      : context_(context),
        owner_(owner),
        running_(new RunningCalls),
        held_(context.budgets),
        guard_(context.settings.overhead_a_second, most_encoded_headers(context.settings),
               context.loop.now_ns()) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Calls learn that their client has gone.
  ~Session();

  /// Once; our SETTINGS are the first output. Errors: RESOURCE_EXHAUSTED no memory.
  Status open() noexcept;

  /// Takes what came. \param bytes  within the chunk
  /// \returns how much was taken: less than all if what was answered is to be written first. -1: the connection
  /// is to be closed, after what write() still has
  ssize_t receive(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  /// Where the next data of a stream's message go, if it is large. Bytes that lie there already when receive()
  /// is given them are not copied.
  MessageRoom message_room(int32_t stream) noexcept;
  /// Where so many messages have ended in the next data of a stream that has several; 0: not before the last byte.
  size_t messages_end(int32_t stream, size_t count, std::span<const uint8_t> data) noexcept;
  /// receive() is to be called again with the same chunk, perhaps without bytes, when what was answered is
  /// written.
  bool is_paused() const noexcept { return paused_; }
  /// Puts frames into the queue. \returns whether more is there than the queue may hold
  bool write(OutQueue* to) noexcept;
  /// Neither side has anything more to say.
  bool is_over() const noexcept {
    return failed_ || (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
  }
  /// The client has sent GOAWAY, and has done nothing wrong.
  bool client_leaves() const noexcept { return client_leaves_ && !failed_; }
  /// A list of headers, or a frame that is no data, has begun that may be long in coming, or no frame has come yet.
  bool awaits_headers() const noexcept {
    return !has_settings_ || inside_headers_ ||
           (scanner_.is_inside() && scanner_.last().type != NGHTTP2_DATA);
  }
  /// Changes when what awaits_headers() tells of is another frame than before.
  uint32_t awaited_frame() const noexcept { return frames_; }
  size_t open_streams() const noexcept { return streams_.size(); }
  size_t unsent_frames() const noexcept { return nghttp2_session_get_outbound_queue_size(session_); }

  /// Asks the client for a sign of life.
  void ping() noexcept;

  /// Tells the client to make no more calls here; those that it makes until it knows are taken. finish_going()
  /// then is owed, at the acknowledgement (which comes as is_told()) or after some time.
  void go_away() noexcept;
  bool is_told() const noexcept { return told_; }
  /// No more calls are taken; the session is over when those that are there have ended.
  void finish_going() noexcept;
  /// Calls whose message, or the taking of whose answer, makes no progress are ended. To be called again and
  /// again, after the same time each. \param most  calls of this without progress that a call survives
  void end_stalled_calls(uint32_t most) noexcept;

  // --- streams ---
  nghttp2_session* raw() noexcept { return session_; }
  SessionContext& context() noexcept { return context_; }
  const SessionOwner& owner() const noexcept { return owner_; }
  void output() noexcept { owner_.on_output(); }
  /// While write() runs: no more frames are to be made.
  bool is_full() const noexcept { return out_->is_full(); }
  /// Of this connection, one for each call; nothing: it has too many.
  CallTicket ticket() noexcept;
  void count_begun() noexcept { ++begun_; }
  /// While receive() runs: the connection's window may move on.
  void count_consumed(size_t bytes) noexcept { consumed_ += bytes; }
  void count(RefusedFor reason) noexcept { context_.counters.count(reason); }
  HeldBytes& held() noexcept { return held_; }
  /// A call keeps so many bytes of metadata, or no longer. \returns whether all of them are not too many
  bool hold_metadata(int64_t bytes) noexcept {
    metadata_bytes_ += bytes;
    return metadata_bytes_ <= static_cast<int64_t>(context_.settings.max_held_metadata_bytes);
  }
  FloodGuard& guard() noexcept { return guard_; }

 private:
  friend struct SessionCallbacks;
  static constexpr size_t kLargeFrameBytes = size_t{256} << 10;
  /// Frames beside data that may wait for a client to read them, and those beside of each call.
  static constexpr size_t kMostUnsentFrames = 1000;
  static constexpr size_t kUnsentFramesOfCall = 4;

  static uint64_t most_encoded_headers(const SessionSettings& settings) noexcept {
    // No encoding needs more than what it says, and a frame may be full of padding.
    return CallStream::kMuchTooLong * settings.max_metadata_bytes + settings.max_frame_bytes;
  }
  CallStream* find(int32_t id) noexcept {
    if (found_ == nullptr || found_->id() != id) {
      found_ = static_cast<CallStream*>(nghttp2_session_get_stream_user_data(session_, id));
    }
    return found_;
  }
  /// Gives nghttp2 what came. \returns as receive()
  ssize_t give(std::span<const uint8_t> bytes) noexcept;
  /// The same for bytes of which so many were given, up to the end. False: it has stopped there; *given is negative
  /// if that was an error.
  bool give_until(size_t end, std::span<const uint8_t> bytes, ssize_t* given) noexcept;
  /// The same for a frame with the headers that are known.
  ssize_t give_repeated(std::span<const uint8_t> frame) noexcept;
  /// Ends the session, after what is queued already. \returns what nghttp2 is to be told
  int terminate(ClosedFor reason) noexcept;
  void on_ended(int error) noexcept;
  bool is_flood(std::span<const uint8_t> bytes) noexcept;
  int on_begin_headers(const nghttp2_frame& frame);
  int on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int on_ignored_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int on_invalid_frame();
  int on_frame(const nghttp2_frame& frame);
  int on_request(const nghttp2_frame& frame);
  int on_ping();
  int on_reset(const nghttp2_frame& frame);
  /// One more reset that has cost the client nothing. False: those are too many.
  bool bear_reset() noexcept;
  int on_data(int32_t id, std::span<const uint8_t> bytes);
  int on_frame_sent(const nghttp2_frame& frame);
  void on_data_sent(const nghttp2_frame& frame);
  int on_reset_sent(const nghttp2_frame& frame);
  int before_frame(const nghttp2_frame& frame);
  ssize_t on_send(std::span<const uint8_t> frame);
  bool send_frame(std::span<const uint8_t> frame);
  bool send_headers(std::span<const uint8_t> frame);
  int on_send_data(const nghttp2_frame& frame, const uint8_t* head, size_t length, CallStream& stream);
  bool send_last_data(std::span<const uint8_t> frame);
  bool send_data_head(const uint8_t* head);
  bool send_end(const CallStream& stream);
  void on_stream_closed(int32_t id) noexcept;

  SessionContext& context_;
  SessionOwner& owner_;
  nghttp2_session* session_ = nullptr;
  boost::intrusive::list<CallStream> streams_;
  const boost::intrusive_ptr<RunningCalls> running_;
  HeldBytes held_;
  int64_t metadata_bytes_ = 0;  ///< of open calls
  FloodGuard guard_;
  FrameScanner scanner_;
  uint32_t frames_ = 0;  ///< that came, those aside that go on with a list of headers
  ChunkRef chunk_;       ///< of what is being received
  enum class Reading : uint8_t { kPlain, kStable, kRepeated };
  Reading reading_ = Reading::kPlain;  ///< headers, see RepeatedHeaders
  RepeatedHeaders repeated_;
  CallStream* found_ = nullptr;  ///< by find() at last; null: nothing is known
  uint64_t consumed_ = 0;        ///< data that nghttp2 has not heard of
  OutQueue* out_ = nullptr;      ///< while write() runs
  AnswerBlocks answers_;
  std::optional<MessageEncoding> answered_;  ///< of the answer whose first fields are to be written next
  uint32_t begun_ = 0;                       ///< calls since receive() began
  uint32_t protocol_errors_ = 0;
  uint32_t counted_resets_ = 0;  ///< of ours that are among protocol_errors_ and were not sent yet
  int64_t last_ping_ns_ = 0;     ///< 0: none since something was written
  uint32_t ping_strikes_ = 0;
  double resets_ = 0;  ///< that are not forgotten yet
  int64_t reset_ns_ = 0;
  int32_t large_headers_ = 0;  ///< the stream whose headers are larger than nghttp2 takes; 0: none
  bool has_settings_ = false;
  bool inside_headers_ = false;
  bool paused_ = false;
  struct {
    int32_t id = 0;
    std::span<const uint8_t> bytes;
  } put_off_;  ///< data that were there when it paused
  bool failed_ = false;
  bool going_ = false;
  bool told_ = false;
  bool client_leaves_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
