/// The HTTP server: listener, workers and their connections.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <vector>

#include "backplane.h"
#include "common/connection_limit.h"
#include "connection_count.h"
#include "worker.h"

namespace atl::frontends::http {

/// Everything of the network that this frontend has; gone with stop(). All functions [control] unless they
/// say otherwise.
class HttpServer {
 public:
  /// Binds the address and starts the threads. \returns the server and, through bound_port, its port.
  /// Errors: as check_address_is_free(); RESOURCE_EXHAUSTED no thread or descriptor.
  static Result<std::unique_ptr<HttpServer>> start(Backplane& backplane, int* bound_port) noexcept;
  ~HttpServer();

  /// Calls in flight may go on until the deadline (the host's clock), then their connections are closed.
  /// \param exiting  the server as a whole ends: new calls are refused, and the listener stays, so that
  /// health calls are answered. Else another instance may be taking over: the listener closes, and what
  /// clients have sent already, or send within a grace period on connections they have, is still answered.
  /// Returns at once.
  void drain(int64_t deadline_ns, bool exiting);
  /// Ends everything and waits for calls that still hold the gate.
  void stop();

  // --- [any] ---
  int64_t open_connections() const noexcept { return connections_.open(); }
  uint64_t refused_connections() const noexcept { return connections_.refused(); }
  const std::vector<std::unique_ptr<Worker>>& workers() const noexcept { return workers_; }

 private:
  explicit HttpServer(Backplane& backplane)
      : backplane_(backplane),
        limit_(
            ConnectionLimit::make(backplane.settings.max_connections, kRequestShare, backplane.host.log())),
        connections_([&backplane] { backplane.calls.close(); }) {}
  Status listen(int* bound_port);
  // The listener's functions run on the first worker's thread.
  void accept();
  /// And accepts the next one.
  void take(boost::asio::ip::tcp::socket socket);
  void wait_for_descriptors(const boost::system::error_code& reason);
  void close_listener();

  Backplane& backplane_;
  const ConnectionLimit limit_;
  ConnectionCount connections_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<boost::asio::ip::tcp::acceptor> acceptor_;
  std::unique_ptr<boost::asio::steady_timer> accept_timer_;
  size_t next_worker_ = 0;
  bool paused_ = false;
};

}  // namespace atl::frontends::http
