#include "frontends/common/http/serving_thread.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "frontends/common/access/caller_look.h"
#include "frontends/common/http/connection.h"
#include "frontends/common/http/reply_head.h"
#include "frontends/common/loop/posted_function.h"

namespace atl::frontends::http {
namespace {

/// Connections are looked at so many times within the shortest of their timeouts, and as often as their callers at least.
constexpr int64_t kTicksPerTimeout = 8;
/// So long before the end of a drain streams are cancelled, so that their last event says why they end; of a short drain
/// its last quarter.
constexpr int64_t kLastWordsNs = 2 * kNsPerSecond;

void refuse(const Application& application, int fd) {
  ReplyHead reply{.http_status = 503};
  const std::string body =
      application.refusal_body("the server has as many connections as it may have", reply);
  reply.content_length = body.size();
  std::string head;
  write_reply_head(reply, {}, 11, Framing::kLength, false, &head);
  head += body;
  (void)::send(fd, head.data(), head.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

ServingThread::ServingThread(const ServerContext& shared, ConnectionCount& count)
    : ServerThread(shared.host.clock()),
      server(shared),
      tls(loop, shared.tls == nullptr ? HandshakeTurns::kMost : shared.tls->handshakes_a_thread()),
      count_(count),
      handler_(shared.application.make_handler(*this)) {}

ServingThread::~ServingThread() { stop(); }

void ServingThread::start(const std::string& thread_name) {
  thread_ = std::thread([this] {
    start_tick();
    loop.run();
  });
  pthread_setname_np(thread_.native_handle(), thread_name.c_str());
}

void ServingThread::stop() {
  if (thread_.joinable()) {
    loop.stop();
    thread_.join();
  } else {
    loop.turn(0);  // it was never started: what was posted is run here, or it would be lost with its memory
  }
  last_callers.clear();  // they hold what the server's access goes with
}

void ServingThread::run(std::function<void()> function) { PostedFunction::post(loop, std::move(function)); }

template <class Function>
void ServingThread::for_each_connection(Function function) {
  // From the back: one that is closed has the last one put in its place, which had its turn.
  for (size_t i = connections_.size(); i-- > 0;) {
    if (i < connections_.size()) function(*connections_[i]);
  }
}

void ServingThread::drain(int64_t deadline_ns, bool exiting) {
  ending_.deadline_ns = deadline_ns;
  const int64_t left_ns = std::max<int64_t>(deadline_ns - server.host.clock().now_ns(), 0);
  ending_.last_words_ns = deadline_ns - std::min(kLastWordsNs, left_ns / 4);
  ending_.leave_by_ns = std::min(server.host.clock().now_ns() + server.options.leave_grace_ns, deadline_ns);
  stage_ = exiting ? Stage::kExiting : Stage::kLeaving;
  run([this] {
    for_each_connection([](Connection& connection) { connection.drain(); });
    start_tick();
  });
}

void ServingThread::close_connections() {
  if (!thread_.joinable()) return closed_.store(true, std::memory_order_release);  // it was never started
  run([this] {
    stage_ = Stage::kExiting;
    while (!connections_.empty()) connections_.back()->end(Exchange::Ending::kNow);
    closed_.store(true, std::memory_order_release);
  });
}

void ServingThread::adopt(int fd) {
  run([this, fd] { take(fd); });
}

void ServingThread::adopt_over_limit(int fd, std::function<void()> decided) {
  run([this, fd, decided = std::move(decided)] {
    if (closed() || close_longest_idle()) {
      take(fd);
    } else {
      if (server.tls == nullptr) refuse(server.application, fd);
      ::close(fd);
      count_.refuse();
      log_refusal();
    }
    decided();
  });
}

void ServingThread::log_refusal() {
  constexpr int64_t kIntervalNs = 60 * kNsPerSecond;
  const int64_t now = loop.now_ns();
  if (logged_full_ns_ != 0 && now - logged_full_ns_ <= kIntervalNs) return;
  logged_full_ns_ = now;
  server.host.log().warning(
      server.options.name,
      " has as many connections as it may have, or the process as many descriptors: further "
      "ones get 503");
}

void ServingThread::take(int fd) {
  if (closed()) {
    ::close(fd);
    return count_.remove();
  }
  auto connection = std::make_shared<Connection>(*this, fd);
  connection->worker_index = connections_.size();
  connections_.push_back(connection);
  connection->start();
}

bool ServingThread::close_longest_idle() {
  Connection* longest = nullptr;
  for (const auto& connection : connections_) {
    if (longest != nullptr && connection->deadline_ns() >= longest->deadline_ns()) continue;
    if (connection->may_make_room()) longest = connection.get();
  }
  if (longest != nullptr) longest->close();
  return longest != nullptr;
}

void ServingThread::remove(Connection& connection) noexcept {
  const size_t index = connection.worker_index;
  if (index >= connections_.size() || connections_[index].get() != &connection) return;
  std::swap(connections_[index], connections_.back());
  connections_[index]->worker_index = index;
  gone_.push_back(std::move(connections_.back()));
  connections_.pop_back();
  loop.at_turn_end(*this);
  count_.remove();
}

void ServingThread::start_tick() {
  const ServerOptions& options = server.options;
  const int64_t now = server.host.clock().now_ns();
  int64_t interval = std::min(options.header_timeout_ns, options.idle_timeout_ns) / kTicksPerTimeout;
  interval = std::clamp<int64_t>(interval, kNsPerMs, kCallerLookNs);
  if (stage() != Stage::kServing) {
    const int64_t next_ns = has_cancelled_streams_ ? ending_.deadline_ns : ending_.last_words_ns;
    interval = std::clamp<int64_t>(next_ns - now, kNsPerMs, interval);
  }
  loop.set(*this, now + interval);
}

void ServingThread::on_time() noexcept {
  constexpr int64_t kUnusedNs = 10 * kNsPerSecond;
  const int64_t now = server.host.clock().now_ns();
  if (now - unused_since_ns_ >= kUnusedNs) {
    unused_since_ns_ = now;
    buffers.free_unused();
  }
  last_callers.sweep(now);
  const bool over = stage() != Stage::kServing && now >= ending_.deadline_ns;
  if (stage() != Stage::kServing && now >= ending_.last_words_ns &&
      !std::exchange(has_cancelled_streams_, true))
    for_each_connection([](Connection& connection) { connection.end(Exchange::Ending::kSoon); });
  for_each_connection([&](Connection& connection) {
    if (over) {
      connection.end(Exchange::Ending::kNow);
    } else {
      connection.tick(now);
    }
  });
  start_tick();
}

}  // namespace atl::frontends::http
