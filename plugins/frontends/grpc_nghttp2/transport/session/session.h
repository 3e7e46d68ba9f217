/// HTTP/2 as gRPC uses it, on one connection, without its socket.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <span>

#include "frontends/grpc_nghttp2/transport/session/open_streams.h"
#include "frontends/grpc_nghttp2/transport/session/session_context.h"
#include "frontends/grpc_nghttp2/transport/session/session_input.h"
#include "frontends/grpc_nghttp2/transport/session/session_limits.h"
#include "frontends/grpc_nghttp2/transport/session/session_output.h"

namespace atl::frontends::grpc_nghttp2 {

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

/// nghttp2's session with what is around it: the calls that are open, what comes (SessionInput), what goes
/// (SessionOutput), and how much of it is too much (SessionLimits). Itself it has the beginning and the end.
/// All functions on the loop's thread.
class Session {
 public:
  Session(SessionContext& context, SessionOwner& owner) noexcept
      : context_(context),
        owner_(owner),
        streams_(context),
        limits_(context),
        input_(*this),
        output_(*this) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Calls learn that their client has gone.
  ~Session();

  // --- the connection ---
  /// Once; our SETTINGS are the first output. Errors: RESOURCE_EXHAUSTED no memory.
  Status open() noexcept;
  /// Takes what came. \param bytes  within the chunk
  /// \returns how much was taken: less than all if what was answered is to be written first. -1: the connection
  /// is to be closed, after what write() still has
  ssize_t receive(std::span<const uint8_t> bytes, const ChunkRef& chunk) noexcept;
  /// Puts frames into the queue. \returns whether more is there than the queue may hold
  bool write(OutQueue* to) noexcept;
  size_t unsent_frames() const noexcept { return nghttp2_session_get_outbound_queue_size(raw_); }

  /// Asks the client for a sign of life.
  void ping() noexcept;
  /// Tells the client to make no more calls here; those that it makes until it knows are taken. finish_going()
  /// then is owed, at the acknowledgement (which comes as is_told()) or after some time.
  void go_away() noexcept;
  bool is_told() const noexcept { return told_; }
  /// No more calls are taken; the session is over when those that are there have ended.
  void finish_going() noexcept;
  /// Neither side has anything more to say.
  bool is_over() const noexcept {
    return failed_ || (nghttp2_session_want_read(raw_) == 0 && nghttp2_session_want_write(raw_) == 0);
  }
  /// The client has sent GOAWAY, and has done nothing wrong.
  bool client_leaves() const noexcept { return client_leaves_ && !failed_; }

  // --- the parts ---
  OpenStreams& streams() noexcept { return streams_; }
  SessionLimits& limits() noexcept { return limits_; }
  SessionInput& input() noexcept { return input_; }
  SessionOutput& output() noexcept { return output_; }

  // --- for the parts, and for streams ---
  nghttp2_session* raw() noexcept { return raw_; }
  SessionContext& context() noexcept { return context_; }
  const SessionOwner& owner() const noexcept { return owner_; }
  void announce_output() noexcept { owner_.on_output(); }
  bool has_failed() const noexcept { return failed_; }
  /// The client has sent GOAWAY.
  void on_goaway() noexcept { client_leaves_ = true; }
  /// The client has answered a PING of ours.
  void on_pong() noexcept { told_ = told_ || going_; }
  /// Ends the session, after what is queued already. \returns what nghttp2 is to be told
  int terminate(ClosedFor reason) noexcept;

 private:
  /// nghttp2 has given up, without a word to the client.
  void on_ended(int error) noexcept;

  SessionContext& context_;
  SessionOwner& owner_;
  nghttp2_session* raw_ = nullptr;
  OpenStreams streams_;
  SessionLimits limits_;
  SessionInput input_;
  SessionOutput output_;
  bool failed_ = false;
  bool going_ = false;
  bool told_ = false;
  bool client_leaves_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
