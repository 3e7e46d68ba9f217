/// A thread with connections of its own.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "frontends/common/http/application.h"
#include "frontends/common/http/connection_count.h"
#include "frontends/common/http/server_options.h"
#include "frontends/common/http/server_thread.h"

namespace atl::frontends::http {

class Connection;

class Worker final : public ServerThread {
 public:
  /// \param count  of all workers' connections; those that end here are taken from it
  Worker(const ServerContext& server, ConnectionCount& count);
  ~Worker() override;

  const ServerContext& server;

  /// [control] Starts the thread. May throw std::system_error.
  void start(const std::string& thread_name);
  /// [control] Answers from now on end their connections; at the deadline, of the host's clock, all are
  /// closed. \param exiting  idle ones are closed at once; else they have some time in which their next
  /// request is answered
  void drain(int64_t deadline_ns, bool exiting);
  /// [control] Closes every connection, now and later. Their calls may go on; the thread does.
  void close_connections();
  /// [any] Every connection is closed.
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// [control] Ends the thread. No call is left.
  void stop();

  /// [any]
  boost::asio::io_context& io() noexcept override { return io_; }
  /// [any] Takes a connection that was counted already.
  void adopt(boost::asio::ip::tcp::socket socket);
  /// [any] The same for one that is too much: the one that has been idle for the longest time makes room; if
  /// none is idle, the new one is refused. \param decided  called on the worker's thread
  void adopt_over_limit(boost::asio::ip::tcp::socket socket, std::function<void()> decided);

  // --- the worker's own thread ---
  Handler& handler() noexcept { return *handler_; }
  void remove(Connection& connection) noexcept;
  /// Whether this server ends because all of the process does.
  bool exiting() const noexcept { return stage_ == Stage::kExiting; }
  /// Whether this server ends while another one takes over.
  bool leaving() const noexcept { return stage_ == Stage::kLeaving; }
  /// While leaving: when connections are to be without further requests.
  int64_t leave_by_ns() const noexcept { return leave_by_ns_; }

 private:
  enum class Stage { kServing, kLeaving, kExiting };

  void wake() noexcept override;
  void run() noexcept;
  void take(boost::asio::ip::tcp::socket socket);
  void start_tick();
  void tick();
  /// False: none is idle.
  bool close_longest_idle();

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  ConnectionCount& count_;
  const std::unique_ptr<Handler> handler_;
  std::vector<std::shared_ptr<Connection>> connections_;
  Stage stage_ = Stage::kServing;
  int64_t leave_by_ns_ = 0;
  std::atomic<bool> closed_{false};
  int64_t drain_deadline_ns_ = 0;
  std::thread thread_;
};

}  // namespace atl::frontends::http
