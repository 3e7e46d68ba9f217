/// Connections to one Redis server, with time limits and a circuit breaker.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "atoll/core/host.h"
#include "atoll/core/metrics.h"
#include "caches/redis/circuit_breaker.h"
#include "caches/redis/redis_connection.h"
#include "caches/redis/settings.h"

namespace atl::caches {

/// Commands with the same key use the same connection while it is there, so that what was set is got. One thread
/// of its own serves all connections.
class RedisClient final : public MetricSource, private RedisConnection::Owner {
 public:
  enum class Outcome : uint32_t { kFound = 0, kMissing = 1, kFailed = 2 };
  /// On the client's thread, once. \param value  of kFound; the handler may take its bytes
  using GetHandler = std::function<void(Outcome, std::string* value)>;

  /// \param log  outlives it
  RedisClient(Log& log, RedisSettings settings);
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;
  virtual ~RedisClient() { stop(); }

  /// [control] Connections are made meanwhile. Errors: INVALID_ARGUMENT a certificate cannot be used; UNAVAILABLE no
  /// thread.
  Status start();
  /// [control] No handler is called any more.
  void stop();

  /// [any] Whether there is a use in asking.
  bool is_available() const noexcept { return available_.load(std::memory_order_relaxed); }
  /// [any] Connections that can be used. Until all of them are there, what was set a moment ago may be missing.
  uint32_t connections() const noexcept { return ready_.load(std::memory_order_relaxed); }
  /// [any] Whether a value of this size would be taken.
  bool has_room(uint64_t bytes) const noexcept {
    return buffered_bytes_.load(std::memory_order_relaxed) + bytes <= settings_.write_buffer_bytes;
  }
  /// [any] Values of more than entry_bytes_max bytes are missing. Fails when `timeout` has passed since begun_ns.
  void get(std::string key, uint64_t hash, GetHandler handler);
  /// [any] Nobody is told how it ends. What has no room, or no connection, is dropped.
  void set(std::string key, uint64_t hash, std::string value);
  /// [any] Runs it on the client's thread.
  void post(std::function<void()> task);
  /// [any]
  void count_failure(RedisFailure failure) noexcept {
    failures_[static_cast<size_t>(failure)].fetch_add(1, std::memory_order_relaxed);
  }
  void count_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }
  void collect(MetricSink& sink) const noexcept override;

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct PendingGet {
    GetHandler handler;  ///< empty: it was called
    SteadyTime deadline;
  };
  struct Slot {
    std::shared_ptr<RedisConnection> connection;  ///< null: none
    SteadyTime ready_since;
  };

  // --- the client's own thread ---
  void on_ready(RedisConnection& connection) noexcept override;
  void on_failure(RedisConnection& connection, RedisFailure failure, const Status& why) noexcept override;
  void run() noexcept;
  void connect(Slot& slot);
  void connect_all();
  Slot& slot_of(const RedisConnection& connection) noexcept;
  RedisConnection* connection_for(uint64_t hash) noexcept;
  void send_get(const std::string& key, uint64_t hash, const std::shared_ptr<PendingGet>& get);
  void take_reply(PendingGet& get, RedisReply* reply) noexcept;
  void finish(PendingGet& get, Outcome outcome, std::string* value) noexcept;
  void await_timeouts();
  void end_late_ones();
  void report_failure(const Status& why, bool is_grave = false);
  void open_circuit(const Status& why);
  void try_again();
  void update_available() noexcept;
  Status make_tls_context();

  Log& log_;
  const RedisSettings settings_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::steady_timer timeouts_timer_;
  boost::asio::steady_timer retry_timer_;
  CircuitBreaker breaker_;
  std::vector<Slot> slots_;
  std::deque<std::shared_ptr<PendingGet>> gets_;  ///< by deadline
  std::thread thread_;

  std::atomic<bool> available_{false};
  std::atomic<uint64_t> buffered_bytes_{0};
  std::atomic<uint32_t> ready_{0};
  std::atomic<uint64_t> dropped_{0};
  std::array<std::atomic<uint64_t>, kRedisFailureNames.size()> failures_{};
};

}  // namespace atl::caches
