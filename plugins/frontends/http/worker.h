/// A thread with connections of its own.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "thread_context.h"

namespace atl::frontends::http {

class Connection;

class Worker final : public ThreadContext {
 public:
  /// \param open_connections  of all workers; counted down here
  Worker(Backplane& backplane, std::atomic<int64_t>& open_connections);
  ~Worker() override;

  /// [control] Starts the thread. May throw std::system_error.
  void start(const std::string& thread_name);
  /// [control] Answers from now on end their connections; idle ones are closed. At the deadline, of the
  /// host's clock, all are.
  void drain(int64_t deadline_ns);
  /// [control] Closes every connection, now and later. Their calls may go on; the thread does.
  void close_connections();
  /// [any] Every connection is closed.
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// [control] Ends the thread. No call is left.
  void stop();

  /// [any]
  boost::asio::io_context& io() noexcept { return io_; }
  /// [any] Takes a connection that was counted already.
  void adopt(boost::asio::ip::tcp::socket socket);

  // --- the worker's own thread ---
  void remove(Connection& connection) noexcept;
  bool draining() const noexcept { return draining_; }

 private:
  void wake() noexcept override;
  void run() noexcept;
  void start_tick();
  void tick();

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  std::atomic<int64_t>& open_connections_;
  std::vector<std::shared_ptr<Connection>> connections_;
  bool draining_ = false;
  std::atomic<bool> closed_{false};
  int64_t drain_deadline_ns_ = 0;
  std::thread thread_;
};

}  // namespace atl::frontends::http
