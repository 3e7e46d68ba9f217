/// What the sessions of one thread have in common, and what a session has of its connection.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>

#include "atoll/frontend/access.h"
#include "frontends/common/call/buffer_pool.h"
#include "frontends/common/call/request_budgets.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/grpc_nghttp2/transport/call.h"
#include "frontends/grpc_nghttp2/transport/transport_counters.h"

namespace atl::frontends::grpc_nghttp2 {

class SessionRules;
class StreamPool;

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
  /// There is something for Session::write().
  virtual void on_output() noexcept = 0;
  virtual std::string peer() const = 0;
  /// Of its client, once the handshake is over; null: none was demanded.
  virtual std::shared_ptr<const ClientCertificate> certificate() const noexcept { return nullptr; }

 protected:
  ~SessionOwner() = default;
};

}  // namespace atl::frontends::grpc_nghttp2
