/// The end of a server whose clients are to leave first.
#pragma once

#include "frontends/common/call/call_gate.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/grpc_nghttp2/transport/server.h"

namespace atl::frontends::grpc_nghttp2 {

/// Looks now and then whether the time for calls is over. On the loop of a server's first thread; ends when that
/// has ended.
class Departure final : private Timer {
 public:
  Departure(Server& server, CallGate& calls)
      : server_(server), calls_(calls), loop_(server.workers().front()->loop()) {}
  virtual ~Departure() = default;

  /// [control] Once. \param deadline_ns  then all connections end
  /// \param exiting  no calls are taken any more, health calls aside. Else another instance takes over: the gate is
  /// closed when all clients have gone, or none has called for some time
  void begin(int64_t deadline_ns, bool exiting);

 private:
  void on_time() noexcept override;

  Server& server_;
  CallGate& calls_;
  EventLoop& loop_;
  int64_t deadline_ns_ = 0;
  bool exiting_ = false;
  int64_t quiet_since_ns_ = 0;
  uint64_t begun_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
