/// Everything of the network that a gRPC frontend has: a listener, and threads with connections of their own.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/log.h"
#include "frontends/common/loop/acceptor.h"
#include "frontends/common/sockets/connection_limit.h"
#include "frontends/grpc_nghttp2/transport/serving_thread.h"

namespace atl::frontends::grpc_nghttp2 {

struct ServerSettings {
  ListenAddress address;
  ListenOptions listen;
  Opening opening;
  uint32_t threads = 1;
  ConnectionLimit limit;
  std::string name = "gRPC";  ///< in log lines and of threads
};

/// All functions [control] unless they say otherwise.
class Server {
 public:
  /// \param transport  outlives this
  Server(const TransportContext& transport, ServerSettings settings, Log& log);
  ~Server();

  /// Binds the address and starts the threads. Once. \returns the bound port.
  /// Errors: as listen_on(); RESOURCE_EXHAUSTED no thread or descriptor.
  Result<int> start() noexcept;

  /// Takes no more connections; the socket is closed when this returns.
  void close_listener();
  /// Every client is told to make its calls elsewhere.
  void go_away() noexcept;
  /// Ends every connection; what was answered is written as far as sockets take it. Calls learn that their
  /// clients have gone. They may go on; the threads do.
  void close_connections() noexcept;
  /// Every connection is closed, and no other thread is about to post anything.
  bool closed() const noexcept;
  /// Ends the threads. No call is left.
  void stop() noexcept;

  // --- [any] ---
  int64_t open_connections() const noexcept;
  uint64_t refused_connections() const noexcept { return refused_.load(std::memory_order_relaxed); }
  const std::vector<std::unique_ptr<ServingThread>>& workers() const noexcept { return workers_; }

 private:
  // [the first worker's thread]
  void take(int fd) noexcept;

  const TransportContext& transport_;
  const ServerSettings settings_;
  Log& log_;
  std::vector<std::unique_ptr<ServingThread>> workers_;
  std::unique_ptr<Acceptor> acceptor_;
  std::atomic<uint64_t> refused_{0};
  int64_t told_full_ns_ = 0;
  bool started_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
