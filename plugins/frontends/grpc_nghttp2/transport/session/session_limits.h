/// What a session bears of its client.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <optional>

#include "frontends/grpc_nghttp2/transport/call/call_ticket.h"
#include "frontends/grpc_nghttp2/transport/session/flood_guard.h"
#include "frontends/grpc_nghttp2/transport/session/held_bytes.h"
#include "frontends/grpc_nghttp2/transport/session/session_context.h"

namespace atl::frontends::grpc_nghttp2 {

/// One connection's accounts: of its calls, of what they hold, and of what its client has done without use or by
/// mistake. Says when it is enough; what happens then is the session's. Not thread safe.
class SessionLimits {
 public:
  explicit SessionLimits(SessionContext& context) noexcept;
  SessionLimits(const SessionLimits&) = delete;
  SessionLimits& operator=(const SessionLimits&) = delete;

  /// For the counters of the thread.
  void count(RefusedFor reason) noexcept { context_.counters.count(reason); }

  // --- calls ---
  /// For one more call.
  CallTicket ticket() noexcept { return CallTicket(running_); }
  /// The connection has as many as it may have; a call more is refused.
  bool is_full_of_calls() const noexcept { return running_->count >= context_.settings.max_streams; }
  /// Most of what runs was reset: the client makes work pile up. \param open  calls that were not reset
  bool is_piling_up(size_t open) const noexcept {
    return running_->count >= open + context_.settings.max_streams / 2;
  }

  // --- memory ---
  /// A call keeps so many bytes more. Errors: as HeldBytes::add().
  Status hold(uint64_t bytes) noexcept {
    Status status = held_.add(bytes);
    if (!status.ok()) count(RefusedFor::kMemory);
    return status;
  }
  void let_go(uint64_t bytes) noexcept { held_.reduce(bytes); }
  uint64_t held_bytes() const noexcept { return held_.bytes(); }
  /// A call keeps so many bytes of metadata more, or less. \returns whether all of them are not too many
  bool hold_metadata(int64_t bytes) noexcept {
    metadata_bytes_ += bytes;
    return metadata_bytes_ <= static_cast<int64_t>(context_.settings.max_held_metadata_bytes);
  }

  // --- what the client does. Those that return bool: false, it is too much ---
  FloodGuard& guard() noexcept { return guard_; }
  /// What came was told to the guard. \param unsent_frames  that wait for the client to read them
  /// \returns empty: it may go on; else why not
  std::optional<ClosedFor> verdict(size_t unsent_frames, size_t open_calls) noexcept;
  /// A call was malformed; nghttp2 resets it.
  bool on_malformed() noexcept {
    ++counted_resets_;
    return bear_error();
  }
  /// We have reset a call. \param error_code  of HTTP/2
  bool on_reset_sent(uint32_t error_code) noexcept;
  bool on_ping(bool has_calls) noexcept;
  /// Frames that answer or make room were sent: pings are not too early after those.
  void on_progress() noexcept {
    last_ping_ns_ = 0;
    ping_strikes_ = 0;
  }
  /// One more reset that has cost the client nothing.
  bool bear_reset() noexcept;

 private:
  bool bear_error() noexcept {
    count(RefusedFor::kMalformed);
    return ++protocol_errors_ <= context_.settings.max_protocol_errors;
  }

  SessionContext& context_;
  const boost::intrusive_ptr<RunningCalls> running_;
  HeldBytes held_;
  int64_t metadata_bytes_ = 0;  ///< of open calls
  FloodGuard guard_;
  uint32_t protocol_errors_ = 0;
  uint32_t counted_resets_ = 0;  ///< of ours that are among protocol_errors_ and were not sent yet
  int64_t last_ping_ns_ = 0;     ///< 0: none since something was written
  uint32_t ping_strikes_ = 0;
  double resets_ = 0;  ///< that are not forgotten yet
  int64_t reset_ns_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
