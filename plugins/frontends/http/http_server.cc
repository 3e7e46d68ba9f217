#include "http_server.h"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "codec/error_json.h"
#include "common/tcp_listener.h"
#include "common/wire_messages.h"
#include "reply_head.h"

namespace atl::frontends::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int kBacklog = 1024;
/// How long the listener waits when the process has no descriptor left.
constexpr auto kDescriptorPause = std::chrono::milliseconds(100);

}  // namespace

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(Backplane& backplane, int* bound_port) noexcept {
  try {
    std::unique_ptr<HttpServer> server(new HttpServer(backplane));
    const Settings& settings = backplane.settings;
    for (uint32_t i = 0; i < settings.threads; ++i) {
      server->workers_.push_back(std::make_unique<Worker>(backplane, server->open_connections_));
    }
    ATOLL_RETURN_IF_ERROR(server->listen(bound_port));
    for (size_t i = 0; i < server->workers_.size(); ++i) server->workers_[i]->start(cat("http-", i));
    server->accept();
    return server;
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "can not start the HTTP server: ", error.what());
  } catch (const std::exception& error) {
    return internal_error("can not start the HTTP server: ", error.what());
  }
}

Status HttpServer::listen(int* bound_port) {
  asio::io_context& io = workers_.front()->io();
  auto acceptor = std::make_unique<tcp::acceptor>(io);
  ATOLL_RETURN_IF_ERROR(open_listener(backplane_.settings.address,
                                      backplane_.host.replaces_running_instance(), kBacklog, "HTTP",
                                      acceptor.get(), bound_port));
  acceptor_ = std::move(acceptor);
  accept_timer_ = std::make_unique<asio::steady_timer>(io);
  return {};
}

void HttpServer::accept() {
  Worker& worker = *workers_[next_worker_];
  acceptor_->async_accept(worker.io(), [this](const boost::system::error_code& error, tcp::socket socket) {
    if (!acceptor_->is_open()) return;
    if (!error) {
      take(std::move(socket));
    } else if (error == asio::error::no_descriptors || error == asio::error::no_buffer_space ||
               error == asio::error::no_memory || error.value() == ENFILE) {
      wait_for_descriptors();
      return;
    }
    accept();
  });
}

void HttpServer::take(tcp::socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (++open_connections_ > backplane_.settings.max_connections) {
    --open_connections_;
    refused_connections_.fetch_add(1, std::memory_order_relaxed);
    const std::string body = error_json("the server has as many connections as it may have");
    std::string head;
    write_reply_head({.http_status = 503, .content_type = kJsonType, .content_length = body.size()}, 11,
                     Framing::kLength, false, &head);
    head += body;
    (void)::send(socket.native_handle(), head.data(), head.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  workers_[next_worker_]->adopt(std::move(socket));
  next_worker_ = (next_worker_ + 1) % workers_.size();
}

void HttpServer::wait_for_descriptors() {
  accept_timer_->expires_after(kDescriptorPause);
  accept_timer_->async_wait([this](const boost::system::error_code& error) {
    if (!error && acceptor_->is_open()) accept();
  });
}

void HttpServer::close_listener() {
  asio::post(workers_.front()->io(), [this] {
    boost::system::error_code ignored;
    accept_timer_->cancel(ignored);
    acceptor_->close(ignored);
  });
}

void HttpServer::drain(int64_t deadline_ns, bool keep_listening) {
  if (!keep_listening) close_listener();
  for (auto& worker : workers_) worker->drain(deadline_ns);
}

void HttpServer::stop() {
  if (acceptor_ != nullptr) {
    close_listener();
    for (auto& worker : workers_) worker->close_connections();
    auto busy = [this] {
      if (backplane_.host.gate().count() > 0) return true;
      for (auto& worker : workers_) {
        if (!worker->closed() || !worker->nobody_posts()) return true;
      }
      return false;
    };
    while (busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (auto& worker : workers_) worker->stop();
  acceptor_.reset();
  accept_timer_.reset();
  workers_.clear();
}

}  // namespace atl::frontends::http
