/// A thread with connections of its own.
#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "frontends/common/tls/tls_listener.h"
#include "frontends/grpc_nghttp2/transport/connection.h"
#include "frontends/grpc_nghttp2/transport/memory_pool.h"

namespace atl::frontends::grpc_nghttp2 {

/// What a server is made of; outlives it.
struct TransportContext {
  const Clock& clock;
  Application& application;
  const RequestBudgets* budgets = nullptr;  ///< null: memory of requests is not counted
  SessionSettings session{};
  ConnectionSettings connection{};
  TlsListener* tls = nullptr;  ///< null: connections have none
};

class ServingThread final : private ConnectionHome, private Timer {
 public:
  explicit ServingThread(const TransportContext& transport);
  ~ServingThread();

  /// Before all else. Errors: RESOURCE_EXHAUSTED.
  Status open() noexcept;
  /// [control] May throw std::system_error.
  void start(const std::string& thread_name);
  /// [control] Closes every connection and ends the thread. Calls that still run are not waited for: nothing is
  /// to be posted any more.
  void stop() noexcept;

  // --- [any] ---
  EventLoop& loop() noexcept { return loop_; }
  const TransportCounters& counters() const noexcept { return context_.counters; }
  int64_t connections() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Takes a connection, which does not block.
  void adopt(int fd) noexcept;
  /// Every connection is told to go away.
  void go_away() noexcept;
  /// Ends every connection, those too that are still to be adopted. The loop goes on.
  void close_connections() noexcept;
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Runs a function on the thread, once.
  void run(std::function<void()> function) noexcept;

  // --- this thread ---
  BufferPool& buffers() noexcept { return buffers_; }

 private:
  void on_closed(Connection& connection) noexcept override;
  void on_time() noexcept override;
  void free_unused_later() noexcept;
  void on_tls_failure(const Connection& connection, std::string_view why) noexcept override;
  void take(int fd) noexcept;

  const TransportContext& transport_;
  MemoryPool memory_;
  EventLoop loop_;
  BufferPool buffers_;
  StreamPool streams_;
  ReceiveBuffer receive_;
  TlsThread tls_;
  SessionRules rules_;
  const std::unique_ptr<MethodFinder> methods_;
  SessionContext context_;
  boost::intrusive::list<Connection> connections_;
  std::atomic<int64_t> count_{0};
  std::atomic<bool> closed_{false};
  bool going_ = false;
  std::thread thread_;
};

}  // namespace atl::frontends::grpc_nghttp2
