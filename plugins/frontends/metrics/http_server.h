/// The endpoint: GET /metrics over HTTP, on one thread.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>

#include "atoll/gate.h"
#include "atoll/status.h"
#include "common/connection_limit.h"
#include "common/listen_address.h"

namespace atl::frontends::metrics {

struct EndpointOptions {
  ListenAddress address;
  ConnectionLimit limit;
  int64_t idle_timeout_ns = 0;
  bool take_over = false;  ///< the address may be that of the instance that this one replaces
};

class HttpConnection;

/// All functions [control] unless they say otherwise.
class HttpServer {
 public:
  /// \param gate  answers under way hold a pass. \param page  gives the text; called on the server's thread
  HttpServer(const EndpointOptions& options, Gate& gate, std::function<std::string()> page);
  ~HttpServer();

  /// Binds the address and begins to answer. \returns the bound port.
  /// Errors: as check_address_is_free(); INTERNAL the system refuses to listen; RESOURCE_EXHAUSTED no thread
  /// or descriptor.
  Result<int> start() noexcept;
  /// Idle connections are closed, answers under way have this long. \param keep_listening  new connections
  /// are still answered. Returns at once.
  void drain(int64_t left_ns, bool keep_listening);
  /// Closes everything and joins the thread.
  void stop();

  /// [any]
  uint64_t refused_connections() const noexcept { return refused_.load(std::memory_order_relaxed); }
  uint64_t open_connections() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  friend class HttpConnection;
  // The rest runs on the server's thread.
  void accept();
  void take(boost::asio::ip::tcp::socket socket);
  void forget(const std::shared_ptr<HttpConnection>& connection);
  /// False: all are being answered.
  bool close_longest_waiting();
  void close_all();

  EndpointOptions options_;
  Gate& gate_;
  std::function<std::string()> page_;
  std::atomic<uint64_t> refused_{0}, open_{0};
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_{io_};
  boost::asio::steady_timer accept_timer_{io_}, drain_timer_{io_};
  bool draining_ = false;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections_;
  std::thread thread_;
};

}  // namespace atl::frontends::metrics
