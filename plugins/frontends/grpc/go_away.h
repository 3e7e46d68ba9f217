/// Sending clients to another connection while their calls are still taken.
#pragma once

#include <cstddef>

namespace atl::frontends::grpc_frontend {

/// gRPC 1.51 has one call that tells clients to go, a server's Shutdown, and from then on it cancels every
/// call that arrives, those too that were sent before the client knew. What it does with a connection that
/// has reached its maximum age is what a change-over needs: GOAWAY, while calls go on being taken. Ages are
/// timers of gRPC's event engine, in whose place a program may put its own; so here one server's can be made
/// to run out. If something else of the process has brought up the event engine before, nobody is told to go.
class GoAway {
 public:
  /// Before the server is built. \param max_age_ms  0: connections may grow old
  explicit GoAway(int max_age_ms);
  /// The server is gone.
  ~GoAway();
  GoAway(const GoAway&) = delete;
  GoAway& operator=(const GoAway&) = delete;

  /// What the server takes as GRPC_ARG_MAX_CONNECTION_AGE_MS: by that its timers are known. 0: leave it out.
  int age_argument_ms() const noexcept;
  /// [any] Tells the clients of every connection, and of those that are still being set up as soon as they
  /// are. \returns how many have been told now.
  size_t send();

 private:
  int max_age_ms_;
  size_t server_;  ///< among those of the process
};

}  // namespace atl::frontends::grpc_frontend
