/// How long one connection waits for its client, and for what.
#pragma once

#include <cstdint>

#include "frontends/common/loop/event_loop.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"

namespace atl::frontends::grpc_nghttp2 {

class Connection;

struct ConnectionSettings {
  int64_t header_timeout_ns = 10 * kNsPerSecond;       ///< for the preface, and for each list of headers
  int64_t write_stall_timeout_ns = 30 * kNsPerSecond;  ///< for the socket to take 16 KiB, or all that waits
  int64_t call_stall_timeout_ns =
      300 * kNsPerSecond;                          ///< for 16 KiB of a message, either way, or the rest of it
  int64_t go_away_timeout_ns = 20 * kNsPerSecond;  ///< for the client to show that it was told
  int64_t keepalive_time_ns = 7200 * kNsPerSecond;   ///< without a byte from the client, then it is pinged
  int64_t keepalive_timeout_ns = 20 * kNsPerSecond;  ///< for a byte from it then
  bool keepalive_without_calls = false;
  int64_t max_age_ns = 0;        ///< about; then the client is sent away. 0: never
  int64_t max_age_grace_ns = 0;  ///< for its calls then. 0: as long as they take
};

/// Part of its connection, which it closes, or sends the client of away, when a time is over. On the loop's thread.
class ConnectionTimes {
 public:
  /// \param connection  has this; the others outlive it
  ConnectionTimes(Connection& connection, Session& session, const ConnectionSettings& settings) noexcept
      : connection_(connection), session_(session), settings_(settings), loop_(session.context().loop) {}
  ConnectionTimes(const ConnectionTimes&) = delete;
  ConnectionTimes& operator=(const ConnectionTimes&) = delete;

  void start() noexcept;
  /// Bytes came.
  void on_read() noexcept { last_read_ns_ = loop_.now_ns(); }
  /// The session has taken some: what it awaits now may be something else.
  void on_received() noexcept {
    watch_headers();
    if (!calls_.is_set()) watch_calls();
  }
  /// The socket took so many bytes.
  void on_taken(uint64_t bytes) noexcept {
    taken_bytes_ += bytes;
    if (taken_bytes_ >= StallWatch::kProgressBytes) stall_.unset();
  }
  /// The socket takes no more now.
  void await_room() noexcept;
  void stop_awaiting_room() noexcept { stall_.unset(); }
  /// The client was told to go away; the session's finish_going() comes after some time.
  void await_going() noexcept { loop_.set(going_, loop_.now_ns() + settings_.go_away_timeout_ns); }
  /// The client has shown that it was told.
  void stop_awaiting_going() noexcept { going_.unset(); }
  /// Nothing but the client's end is awaited any more.
  void await_end() noexcept;
  /// That is not awaited any longer either.
  void end_now() noexcept { loop_.set(going_, loop_.now_ns()); }

 private:
  /// One of the times.
  class Limit final : public Timer {
   public:
    using Function = void (ConnectionTimes::*)() noexcept;
    Limit(ConnectionTimes& times, Function over) noexcept : times_(times), over_(over) {}
    virtual ~Limit() = default;
    void on_time() noexcept override { (times_.*over_)(); }

   private:
    ConnectionTimes& times_;
    const Function over_;
  };

  void on_headers_late() noexcept;
  void on_stall() noexcept;
  void on_going_over() noexcept;
  void on_quiet() noexcept;
  void on_age() noexcept;
  void on_look_at_calls() noexcept;
  void watch_headers() noexcept;
  void watch_calls() noexcept;

  Connection& connection_;
  Session& session_;
  const ConnectionSettings& settings_;
  EventLoop& loop_;
  Limit headers_{*this, &ConnectionTimes::on_headers_late};
  Limit stall_{*this, &ConnectionTimes::on_stall};
  Limit going_{*this, &ConnectionTimes::on_going_over};
  Limit quiet_{*this, &ConnectionTimes::on_quiet};
  Limit age_{*this, &ConnectionTimes::on_age};
  Limit calls_{*this, &ConnectionTimes::on_look_at_calls};
  uint64_t taken_bytes_ = 0;    ///< by the socket, since stall_ was set
  uint32_t awaited_frame_ = 0;  ///< what headers_ is set for
  int64_t last_read_ns_ = 0;
  bool pinged_ = false;  ///< since the client was heard last
  bool is_old_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
