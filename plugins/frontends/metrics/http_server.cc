#include "http_server.h"

#include <pthread.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "common/tcp_listener.h"
#include "http_connection.h"

namespace atl::frontends::metrics {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int kBacklog = 128;
/// How long the listener waits when the process has no descriptor left.
constexpr auto kDescriptorPause = std::chrono::milliseconds(100);
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

}  // namespace

HttpServer::HttpServer(const EndpointOptions& options, Gate& gate, std::function<std::string()> page)
    : options_(options), gate_(gate), page_(std::move(page)) {}

HttpServer::~HttpServer() { stop(); }

Result<int> HttpServer::start() noexcept {
  try {
    int bound_port = 0;
    ATOLL_RETURN_IF_ERROR(open_listener(options_.address,
                                        {.take_over = options_.take_over, .backlog = kBacklog},
                                        "the metrics service", &acceptor_, &bound_port));
    accept();
    thread_ = std::thread([this] {
      auto work = asio::make_work_guard(io_);
      io_.run();
    });
    pthread_setname_np(thread_.native_handle(), "metrics-http");
    return bound_port;
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "can not start the metrics service: ", error.what());
  } catch (const std::exception& error) {
    return internal_error("can not start the metrics service: ", error.what());
  }
}

void HttpServer::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!error) {
      take(std::move(socket));
    } else if (error != asio::error::connection_aborted) {
      // No descriptors or memory; trying again at once would only burn time.
      accept_timer_.expires_after(kDescriptorPause);
      accept_timer_.async_wait([this](const boost::system::error_code& cancelled) {
        if (!cancelled && acceptor_.is_open()) accept();
      });
      return;
    }
    accept();
  });
}

void HttpServer::take(tcp::socket socket) {
  const auto count = static_cast<int64_t>(connections_.size()) + 1;
  if (!options_.limit.allows(count, socket.native_handle()) && !close_longest_waiting()) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    (void)::send(socket.native_handle(), kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  auto connection = std::make_shared<HttpConnection>(*this, std::move(socket));
  connections_.insert(connection);
  open_.store(connections_.size(), std::memory_order_relaxed);
  connection->start();
}

void HttpServer::forget(const std::shared_ptr<HttpConnection>& connection) {
  connections_.erase(connection);
  open_.store(connections_.size(), std::memory_order_relaxed);
}

bool HttpServer::close_longest_waiting() {
  HttpConnection* longest = nullptr;
  for (const auto& connection : connections_) {
    if (connection->answering()) continue;
    if (longest == nullptr || connection->waiting_since() < longest->waiting_since())
      longest = connection.get();
  }
  if (longest != nullptr) longest->close();
  return longest != nullptr;
}

void HttpServer::close_all() {
  const std::vector<std::shared_ptr<HttpConnection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->close();
}

void HttpServer::drain(int64_t left_ns, bool keep_listening) {
  asio::post(io_, [this, left_ns, keep_listening] {
    boost::system::error_code ignored;
    if (!keep_listening) {
      draining_ = true;
      accept_timer_.cancel(ignored);
      acceptor_.close(ignored);
      const std::vector<std::shared_ptr<HttpConnection>> all(connections_.begin(), connections_.end());
      for (const auto& connection : all) {
        if (!connection->answering()) connection->close();
      }
    }
    drain_timer_.expires_after(std::chrono::nanoseconds(left_ns));
    drain_timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) close_all();
    });
  });
}

void HttpServer::stop() {
  if (!thread_.joinable()) return;
  asio::post(io_, [this] {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    close_all();
    io_.stop();
  });
  thread_.join();
}

}  // namespace atl::frontends::metrics
