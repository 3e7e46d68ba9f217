/// The HTTP server: listener, workers and their connections.
#pragma once

#include <memory>
#include <vector>

#include "frontends/common/http/connection_count.h"
#include "frontends/common/http/server_options.h"
#include "frontends/common/http/serving_thread.h"
#include "frontends/common/loop/acceptor.h"
#include "frontends/common/sockets/connection_limit.h"

namespace atl::frontends::http {

/// Everything of the network that a frontend has; gone with stop(). All functions [control] unless they say
/// otherwise.
class HttpServer {
 public:
  explicit HttpServer(ServerContext context);
  ~HttpServer();

  /// Binds the address and starts the threads. Once. \returns the bound port.
  /// Errors: as listen_on(); RESOURCE_EXHAUSTED no thread or descriptor.
  Result<int> start() noexcept;

  /// Calls in flight may go on until the deadline (the host's clock), then their connections are closed.
  /// \param exiting  the server as a whole ends: new calls are refused, and the listener stays, so that
  /// health calls are answered. Else another instance may be taking over: the listener closes, and what
  /// clients have sent already, or send within a grace period on connections they have, is still answered.
  /// Returns at once.
  void drain(int64_t deadline_ns, bool exiting);
  /// Ends everything and waits for calls that are under way.
  void stop();

  // --- [any] ---
  int64_t open_connections() const noexcept { return connections_.open(); }
  uint64_t refused_connections() const noexcept { return connections_.refused(); }
  /// Requests that were answered. \param category  of RequestCounters. \param status_class  0: 1xx
  uint64_t requests(uint32_t category, uint32_t status_class) const noexcept;

 private:
  Status listen(int* bound_port);
  /// [the first worker's thread] Of a connection that has come.
  void take(int fd);
  void close_listener();

  const ServerContext context_;
  const ConnectionLimit limit_;
  ConnectionCount connections_;
  std::vector<std::unique_ptr<ServingThread>> workers_;
  std::unique_ptr<Acceptor> acceptor_;  ///< on the first worker's loop
  size_t next_worker_ = 0;
};

}  // namespace atl::frontends::http
