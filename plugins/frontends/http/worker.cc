#include "worker.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "connection.h"

namespace atl::frontends::http {
namespace {

namespace asio = boost::asio;

/// Connections are looked at so many times within the shortest of their timeouts, and each second at least.
constexpr int64_t kTicksPerTimeout = 8;

}  // namespace

Worker::Worker(Backplane& shared, std::atomic<int64_t>& open_connections)
    : ThreadContext(shared),
      work_(asio::make_work_guard(io_)),
      timer_(io_),
      open_connections_(open_connections) {}

Worker::~Worker() { stop(); }

void Worker::start(const std::string& thread_name) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), thread_name.c_str());
}

void Worker::run() noexcept {
  set_current();
  start_tick();
  io_.run();
}

void Worker::stop() {
  if (!thread_.joinable()) return;
  io_.stop();
  thread_.join();
}

void Worker::drain(int64_t deadline_ns) {
  asio::post(io_, [this, deadline_ns] {
    draining_ = true;
    drain_deadline_ns_ = deadline_ns;
    for (const auto& connection : std::vector<std::shared_ptr<Connection>>(connections_)) connection->drain();
    start_tick();
  });
}

void Worker::close_connections() {
  asio::post(io_, [this] {
    draining_ = true;
    for (const auto& connection : std::vector<std::shared_ptr<Connection>>(connections_)) connection->close();
    closed_.store(true, std::memory_order_release);
  });
}

void Worker::adopt(asio::ip::tcp::socket socket) {
  asio::post(io_, [this, owned = std::move(socket)]() mutable {
    if (closed()) {
      --open_connections_;
      return;
    }
    auto connection = std::make_shared<Connection>(*this, std::move(owned));
    connection->worker_index = connections_.size();
    connections_.push_back(connection);
    connection->start();
  });
}

void Worker::remove(Connection& connection) noexcept {
  const size_t index = connection.worker_index;
  if (index >= connections_.size() || connections_[index].get() != &connection) return;
  std::swap(connections_[index], connections_.back());
  connections_[index]->worker_index = index;
  connections_.pop_back();
  --open_connections_;
}

void Worker::wake() noexcept {
  asio::post(io_, [this] { run_posted(); });
}

void Worker::start_tick() {
  const Settings& settings = backplane.settings;
  int64_t interval = std::min(settings.header_timeout_ns, settings.idle_timeout_ns) / kTicksPerTimeout;
  interval = std::clamp<int64_t>(interval, kNsPerMs, kNsPerSecond);
  if (draining_) {
    const int64_t left = drain_deadline_ns_ - backplane.host.clock().now_ns();
    interval = std::clamp<int64_t>(left, kNsPerMs, interval);
  }
  timer_.expires_after(std::chrono::nanoseconds(interval));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void Worker::tick() {
  const int64_t now = backplane.host.clock().now_ns();
  const bool over = draining_ && now >= drain_deadline_ns_;
  for (const auto& connection : std::vector<std::shared_ptr<Connection>>(connections_)) {
    if (over) {
      connection->close();
    } else {
      connection->tick(now);
    }
  }
  start_tick();
}

}  // namespace atl::frontends::http
