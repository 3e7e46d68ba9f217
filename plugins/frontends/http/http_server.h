/// The HTTP server: listener, workers and their connections.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <vector>

#include "backplane.h"
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

  /// New calls are refused by the gate already. Calls in flight may go on until the deadline (the host's
  /// clock), then their connections are closed. \param keep_listening  stay reachable, so that health calls
  /// are answered; else close the listener. Returns at once.
  void drain(int64_t deadline_ns, bool keep_listening);
  /// Ends everything and waits for calls that still hold the gate.
  void stop();

  // --- [any] ---
  int64_t open_connections() const noexcept { return open_connections_.load(std::memory_order_relaxed); }
  uint64_t refused_connections() const noexcept {
    return refused_connections_.load(std::memory_order_relaxed);
  }
  const std::vector<std::unique_ptr<Worker>>& workers() const noexcept { return workers_; }

 private:
  explicit HttpServer(Backplane& backplane) : backplane_(backplane) {}
  Status listen(int* bound_port);
  // The listener's functions run on the first worker's thread.
  void accept();
  void take(boost::asio::ip::tcp::socket socket);
  void wait_for_descriptors();
  void close_listener();

  Backplane& backplane_;
  std::atomic<int64_t> open_connections_{0};
  std::atomic<uint64_t> refused_connections_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<boost::asio::ip::tcp::acceptor> acceptor_;
  std::unique_ptr<boost::asio::steady_timer> accept_timer_;
  size_t next_worker_ = 0;
};

}  // namespace atl::frontends::http
