#include "frontends/grpc_nghttp2/transport/serving_thread.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "frontends/common/loop/posted_function.h"

namespace atl::frontends::grpc_nghttp2 {

ServingThread::ServingThread(const TransportContext& transport)
    : transport_(transport),
      loop_(transport.clock),
      tls_(loop_, transport.tls == nullptr ? HandshakeTurns::kMost : transport.tls->handshakes_a_thread()),
      methods_(transport.application.make_methods(*this)),
      context_{loop_,    rules_,   *methods_,         transport.session,
               buffers_, streams_, transport.budgets, memory_.nghttp2()} {}

ServingThread::~ServingThread() { stop(); }

Status ServingThread::open() noexcept {
  ATOLL_RETURN_IF_ERROR(rules_.open());
  return loop_.open();
}

void ServingThread::start(const std::string& thread_name) {
  thread_ = std::thread([this] {
    free_unused_later();
    loop_.run();
  });
  pthread_setname_np(thread_.native_handle(), thread_name.c_str());
}

void ServingThread::stop() noexcept {
  if (thread_.joinable()) {
    loop_.stop();
    thread_.join();
  } else {
    loop_.turn(0);  // it was never started: what was posted is run here, or it would be lost with its memory
  }
  while (!connections_.empty()) on_closed(connections_.front());
}

/// Buffers that a burst has left.
void ServingThread::free_unused_later() noexcept {
  constexpr int64_t kUnusedNs = 10 * kNsPerSecond;
  loop_.set(*this, loop_.now_ns() + kUnusedNs);
}

void ServingThread::on_time() noexcept {
  buffers_.free_unused();
  context_.frames.free_unused();
  free_unused_later();
}

void ServingThread::run(std::function<void()> function) noexcept {
  PostedFunction::post(loop_, std::move(function));
}

void ServingThread::adopt(int fd) noexcept {
  count_.fetch_add(1, std::memory_order_relaxed);
  run([this, fd] { take(fd); });
}

void ServingThread::take(int fd) noexcept {
  const bool has_tls = transport_.tls != nullptr;
  std::unique_ptr<TlsChannel> tls = has_tls && !closed() ? transport_.tls->accept(fd, tls_) : nullptr;
  if (closed() || (has_tls && tls == nullptr)) {
    ::close(fd);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto* connection = new Connection(fd, context_, receive_, transport_.connection, *this, std::move(tls));
  connections_.push_back(*connection);
  const bool going = going_;
  connection->start();
  // It may be gone already.
  if (going && !connections_.empty() && &connections_.back() == connection) connection->go_away();
}

void ServingThread::on_closed(Connection& connection) noexcept {
  connections_.erase(connections_.iterator_to(connection));
  delete &connection;
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void ServingThread::on_tls_failure(const Connection& connection, std::string_view why) noexcept {
  transport_.tls->note_failure(connection.peer(), why);
}

void ServingThread::go_away() noexcept {
  run([this] {
    going_ = true;
    for (Connection& connection : connections_) connection.go_away();
  });
}

void ServingThread::close_connections() noexcept {
  if (!thread_.joinable()) return closed_.store(true, std::memory_order_release);  // it was never started
  run([this] {
    while (!connections_.empty()) connections_.front().shut_down();
    closed_.store(true, std::memory_order_release);
  });
}

}  // namespace atl::frontends::grpc_nghttp2
