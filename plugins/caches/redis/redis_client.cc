#include "caches/redis/redis_client.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <system_error>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::caches {
namespace asio = boost::asio;

namespace {

using std::chrono::steady_clock;

/// A connection that broke sooner was of no use: else one that the server ends at once would be made again and again.
constexpr auto kUsefulFor = std::chrono::seconds(1);

int64_t ns_of(steady_clock::time_point time) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

RedisClient::RedisClient(Log& log, RedisSettings settings)
    : log_(log),
      settings_(std::move(settings)),
      work_(asio::make_work_guard(io_)),
      timeouts_timer_(io_),
      retry_timer_(io_),
      breaker_(settings_.failure_threshold, settings_.retry_after_ns),
      slots_(settings_.connections) {}

Status RedisClient::start() {
  if (settings_.tls.use_tls) ATOLL_RETURN_IF_ERROR(make_tls_context());
  asio::post(io_, [this] { connect_all(); });
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {
    return unavailable("no thread for the connections to Redis: ", failure.what());
  }
  pthread_setname_np(thread_.native_handle(), "redis");
  return {};
}

Status RedisClient::make_tls_context() {
  const RedisTls& tls = settings_.tls;
  tls_.emplace(asio::ssl::context::tls_client);
  boost::system::error_code error;
  const auto refuse = [&](const char* option, const std::string& file) {
    return invalid_argument("option '", option, "': '", file, "' cannot be used: ", error.message());
  };
  if (tls.root_cert.empty()) {
    (void)tls_->set_default_verify_paths(error);
    if (error) return refuse("tls_root_cert", "the system's certificates");
  } else {
    (void)tls_->load_verify_file(tls.root_cert, error);
    if (error) return refuse("tls_root_cert", tls.root_cert);
  }
  if (tls.client_cert.empty()) return {};
  (void)tls_->use_certificate_chain_file(tls.client_cert, error);
  if (error) return refuse("tls_client_cert", tls.client_cert);
  (void)tls_->use_private_key_file(tls.client_key, asio::ssl::context::pem, error);
  return error ? refuse("tls_client_key", tls.client_key) : Status();
}

void RedisClient::stop() {
  if (!thread_.joinable()) return;
  available_ = false;
  io_.stop();
  thread_.join();
}

/// An exception is one of memory that is not there: what it was thrown from is given up, the rest goes on.
void RedisClient::run() noexcept {
  while (!io_.stopped()) {
    try {
      io_.run();
    } catch (const std::exception& failure) {
      log_.error("redis at ", settings_.address.text(), ": ", failure.what());
    }
  }
}

void RedisClient::post(std::function<void()> task) { asio::post(io_, std::move(task)); }

void RedisClient::connect(Slot& slot) {
  slot.connection = std::make_shared<RedisConnection>(io_, tls_ ? &*tls_ : nullptr, settings_,
                                                      static_cast<RedisConnection::Owner&>(*this));
  slot.connection->open();
}

void RedisClient::connect_all() {
  for (Slot& slot : slots_) {
    if (slot.connection == nullptr) connect(slot);
  }
}

RedisClient::Slot& RedisClient::slot_of(const RedisConnection& connection) noexcept {
  return *std::find_if(slots_.begin(), slots_.end(),
                       [&](const Slot& slot) { return slot.connection.get() == &connection; });
}

void RedisClient::on_ready(RedisConnection& connection) noexcept {
  slot_of(connection).ready_since = steady_clock::now();
  if (breaker_.state() == CircuitBreaker::State::kHalfOpen) {
    breaker_.close();
    log_.info("redis at ", settings_.address.text(), " is used again");
    connect_all();
  }
  update_available();
}

void RedisClient::on_failure(RedisConnection& connection, RedisFailure failure, const Status& why) noexcept {
  Slot& slot = slot_of(connection);
  const bool was_useful = steady_clock::now() - slot.ready_since > kUsefulFor &&
                          slot.ready_since != SteadyTime() && failure == RedisFailure::kConnection;
  slot = {};
  count_failure(failure);
  update_available();
  // Who does not keep to the protocol may have answered before: each connection would be made in vain.
  if (!was_useful) report_failure(why, failure == RedisFailure::kProtocol);
  if (breaker_.state() == CircuitBreaker::State::kClosed) connect(slot);
}

void RedisClient::report_failure(const Status& why, bool is_grave) {
  if (breaker_.report_failure(ns_of(steady_clock::now()), is_grave)) open_circuit(why);
}

void RedisClient::open_circuit(const Status& why) {
  const int64_t wait_ns = breaker_.retry_at_ns() - ns_of(steady_clock::now());
  log_.warning("redis at ", settings_.address.text(), " is not used for ",
               (wait_ns + kNsPerMs - 1) / kNsPerMs, " ms, answers are computed: ", why.message());
  // With replies that nobody waits for any more.
  for (Slot& slot : slots_) {
    if (slot.connection == nullptr) continue;
    slot.connection->close();
    slot = {};
  }
  update_available();
  retry_timer_.expires_after(std::chrono::nanoseconds(wait_ns));
  retry_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) try_again();
  });
}

void RedisClient::try_again() {
  breaker_.begin_attempt();
  connect(slots_.front());
}

void RedisClient::update_available() noexcept {
  const auto ready = std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.connection != nullptr && slot.connection->is_ready();
  });
  ready_.store(static_cast<uint32_t>(ready), std::memory_order_relaxed);
  available_.store(ready > 0, std::memory_order_relaxed);
}

/// That of the key, or the next one that is ready.
RedisConnection* RedisClient::connection_for(uint64_t hash) noexcept {
  for (size_t i = 0; i < slots_.size(); ++i) {
    RedisConnection* connection = slots_[(hash + i) % slots_.size()].connection.get();
    if (connection != nullptr && connection->is_ready()) return connection;
  }
  return nullptr;
}

void RedisClient::get(std::string key, uint64_t hash, GetHandler handler) {
  auto get = std::make_shared<PendingGet>();
  get->handler = std::move(handler);
  get->deadline = steady_clock::now() + std::chrono::nanoseconds(settings_.timeout_ns);
  asio::post(io_, [this, key = std::move(key), hash, get] { send_get(key, hash, get); });
}

void RedisClient::send_get(const std::string& key, uint64_t hash, const std::shared_ptr<PendingGet>& get) {
  RedisConnection* connection = connection_for(hash);
  if (connection == nullptr) {
    count_failure(RedisFailure::kUnavailable);
    return finish(*get, Outcome::kFailed, nullptr);
  }
  gets_.push_back(get);
  if (gets_.size() == 1) await_timeouts();
  // Never more than may be stored, whatever is there.
  connection->send(RedisCommand({"GETRANGE", key, "0", cat(settings_.entry_bytes_max)}),
                   [this, get](RedisReply* reply) { take_reply(*get, reply); });
}

void RedisClient::take_reply(PendingGet& get, RedisReply* reply) noexcept {
  if (reply == nullptr) return finish(get, Outcome::kFailed, nullptr);
  switch (reply->kind) {
    case RedisReply::Kind::kText: {
      if (get.handler) breaker_.report_success();
      std::string& value = reply->text;
      const bool is_value = !value.empty() && value.size() <= settings_.entry_bytes_max;
      return finish(get, is_value ? Outcome::kFound : Outcome::kMissing, &value);
    }
    case RedisReply::Kind::kNil:
      if (get.handler) breaker_.report_success();
      return finish(get, Outcome::kMissing, nullptr);
    default:
      count_failure(RedisFailure::kRefused);
      finish(get, Outcome::kFailed, nullptr);
      return report_failure(unavailable(reply->text));
  }
}

void RedisClient::finish(PendingGet& get, Outcome outcome, std::string* value) noexcept {
  if (!get.handler) return;
  std::exchange(get.handler, nullptr)(outcome, value);
}

void RedisClient::await_timeouts() {
  timeouts_timer_.expires_at(gets_.front()->deadline);
  timeouts_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) end_late_ones();
  });
}

void RedisClient::end_late_ones() {
  const SteadyTime now = steady_clock::now();
  while (!gets_.empty() && (!gets_.front()->handler || gets_.front()->deadline <= now)) {
    const std::shared_ptr<PendingGet> get = std::move(gets_.front());
    gets_.pop_front();
    if (!get->handler) continue;
    count_failure(RedisFailure::kTimeout);
    finish(*get, Outcome::kFailed, nullptr);
    report_failure(unavailable("no reply within the timeout"));
  }
  if (!gets_.empty()) await_timeouts();
}

void RedisClient::set(std::string key, uint64_t hash, std::string value) {
  const uint64_t size = value.size();
  if (buffered_bytes_.fetch_add(size, std::memory_order_relaxed) + size > settings_.write_buffer_bytes) {
    buffered_bytes_.fetch_sub(size, std::memory_order_relaxed);
    return count_dropped();
  }
  // On this client's own thread at once: what it posts itself may be overtaken by what others post, such as the next
  // request for this answer.
  asio::dispatch(io_, [this, key = std::move(key), hash, size, value = std::move(value)] {
    RedisConnection* connection = connection_for(hash);
    const auto done = [this, size](const RedisReply* reply) {
      buffered_bytes_.fetch_sub(size, std::memory_order_relaxed);
      if (reply == nullptr || reply->kind == RedisReply::Kind::kError) count_dropped();
      if (reply != nullptr && reply->kind == RedisReply::Kind::kError) count_failure(RedisFailure::kRefused);
    };
    if (connection == nullptr) return done(nullptr);
    if (settings_.ttl_ns == 0) return connection->send(RedisCommand({"SET", key, value}), done);
    const int64_t ttl_ms = std::max<int64_t>(settings_.ttl_ns / kNsPerMs, 1);
    connection->send(RedisCommand({"SET", key, value, "PX", cat(ttl_ms)}), done);
  });
}

void RedisClient::collect(MetricSink& sink) const noexcept {
  sink.family("atoll_cache_failures_total", "Look-ups, stores and connections that failed, by the reason",
              MetricKind::kCounter);
  for (size_t i = 0; i < failures_.size(); ++i) {
    const MetricLabel label{"reason", kRedisFailureNames[i]};
    sink.sample({&label, 1}, static_cast<double>(failures_[i].load(std::memory_order_relaxed)));
  }
  sink.family("atoll_cache_dropped_total", "Answers that were not stored: no room, no connection, refused",
              MetricKind::kCounter);
  sink.sample({}, static_cast<double>(dropped_.load(std::memory_order_relaxed)));
  sink.family("atoll_cache_connections", "Connections to the cache's server that can be used",
              MetricKind::kGauge);
  sink.sample({}, ready_.load(std::memory_order_relaxed));
  sink.family("atoll_cache_buffered_bytes", "Answers on their way to the cache's server", MetricKind::kGauge);
  sink.sample({}, static_cast<double>(buffered_bytes_.load(std::memory_order_relaxed)));
  sink.family("atoll_cache_circuit_breaker_state", "1: the state of the cache's circuit breaker",
              MetricKind::kGauge);
  constexpr std::array<std::string_view, 3> kStates = {"closed", "half_open", "open"};
  for (size_t i = 0; i < kStates.size(); ++i) {
    const MetricLabel label{"state", kStates[i]};
    sink.sample({&label, 1}, static_cast<size_t>(breaker_.state()) == i ? 1 : 0);
  }
}

}  // namespace atl::caches
