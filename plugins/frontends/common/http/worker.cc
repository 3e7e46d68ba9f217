#include "frontends/common/http/worker.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "frontends/common/http/connection.h"
#include "frontends/common/http/reply_head.h"

namespace atl::frontends::http {
namespace {

namespace asio = boost::asio;

/// Connections are looked at so many times within the shortest of their timeouts, and each second at least.
constexpr int64_t kTicksPerTimeout = 8;

void refuse(const Application& application, asio::ip::tcp::socket& socket) {
  ReplyHead reply{.http_status = 503};
  const std::string body =
      application.refusal_body("the server has as many connections as it may have", reply);
  reply.content_length = body.size();
  std::string head;
  write_reply_head(reply, {}, 11, Framing::kLength, false, &head);
  head += body;
  (void)::send(socket.native_handle(), head.data(), head.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Worker::Worker(const ServerContext& shared, ConnectionCount& count)
    : server(shared),
      work_(asio::make_work_guard(io_)),
      timer_(io_),
      count_(count),
      handler_(shared.application.make_handler(*this)) {}

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

void Worker::drain(int64_t deadline_ns, bool exiting) {
  asio::post(io_, [this, deadline_ns, exiting] {
    stage_ = exiting ? Stage::kExiting : Stage::kLeaving;
    drain_deadline_ns_ = deadline_ns;
    leave_by_ns_ = std::min(server.host.clock().now_ns() + server.options.leave_grace_ns, deadline_ns);
    for (const auto& connection : std::vector<std::shared_ptr<Connection>>(connections_)) connection->drain();
    start_tick();
  });
}

void Worker::close_connections() {
  if (!thread_.joinable()) return closed_.store(true, std::memory_order_release);  // it was never started
  asio::post(io_, [this] {
    stage_ = Stage::kExiting;
    for (const auto& connection : std::vector<std::shared_ptr<Connection>>(connections_)) connection->close();
    closed_.store(true, std::memory_order_release);
  });
}

void Worker::adopt(asio::ip::tcp::socket socket) {
  asio::post(io_, [this, owned = std::move(socket)]() mutable { take(std::move(owned)); });
}

void Worker::adopt_over_limit(asio::ip::tcp::socket socket, std::function<void()> decided) {
  asio::post(io_, [this, owned = std::move(socket), decided = std::move(decided)]() mutable {
    if (closed() || close_longest_idle()) {
      take(std::move(owned));
    } else {
      boost::system::error_code ignored;
      refuse(server.application, owned);
      owned.close(ignored);
      count_.refuse();
    }
    decided();
  });
}

void Worker::take(asio::ip::tcp::socket socket) {
  if (closed()) return count_.remove();
  auto connection = std::make_shared<Connection>(*this, std::move(socket));
  connection->worker_index = connections_.size();
  connections_.push_back(connection);
  connection->start();
}

bool Worker::close_longest_idle() {
  Connection* longest = nullptr;
  for (const auto& connection : connections_) {
    if (longest != nullptr && connection->deadline_ns() >= longest->deadline_ns()) continue;
    if (connection->may_make_room()) longest = connection.get();
  }
  if (longest != nullptr) longest->close();
  return longest != nullptr;
}

void Worker::remove(Connection& connection) noexcept {
  const size_t index = connection.worker_index;
  if (index >= connections_.size() || connections_[index].get() != &connection) return;
  std::swap(connections_[index], connections_.back());
  connections_[index]->worker_index = index;
  connections_.pop_back();
  count_.remove();
}

void Worker::wake() noexcept {
  asio::post(io_, [this] { run_posted(); });
}

void Worker::start_tick() {
  const ServerOptions& options = server.options;
  int64_t interval = std::min(options.header_timeout_ns, options.idle_timeout_ns) / kTicksPerTimeout;
  interval = std::clamp<int64_t>(interval, kNsPerMs, kNsPerSecond);
  if (stage_ != Stage::kServing) {
    const int64_t left = drain_deadline_ns_ - server.host.clock().now_ns();
    interval = std::clamp<int64_t>(left, kNsPerMs, interval);
  }
  timer_.expires_after(std::chrono::nanoseconds(interval));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

void Worker::tick() {
  const int64_t now = server.host.clock().now_ns();
  const bool over = stage_ != Stage::kServing && now >= drain_deadline_ns_;
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
