#include "http_server.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "common/tcp_listener.h"

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
      server->workers_.push_back(std::make_unique<Worker>(backplane, server->connections_));
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
  const ListenOptions options{.take_over = backplane_.host.replaces_running_instance(), .backlog = kBacklog};
  ATOLL_RETURN_IF_ERROR(
      open_listener(backplane_.settings.address, options, "HTTP", acceptor.get(), bound_port));
  acceptor_ = std::move(acceptor);
  accept_timer_ = std::make_unique<asio::steady_timer>(io);
  return {};
}

void HttpServer::accept() {
  Worker& worker = *workers_[next_worker_];
  acceptor_->async_accept(worker.io(), [this](const boost::system::error_code& error, tcp::socket socket) {
    if (!acceptor_->is_open()) return;
    if (error == asio::error::no_descriptors || error == asio::error::no_buffer_space ||
        error == asio::error::no_memory || error.value() == ENFILE) {
      return wait_for_descriptors(error);
    }
    if (error) return accept();
    paused_ = false;
    take(std::move(socket));
  });
}

void HttpServer::take(tcp::socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  Worker& worker = *workers_[next_worker_];
  next_worker_ = (next_worker_ + 1) % workers_.size();
  if (limit_.allows(connections_.add(), socket.native_handle())) {
    worker.adopt(std::move(socket));
    return accept();
  }
  // Over the limit the next one is taken when this one has been decided: of a flood the others wait in the
  // listener's queue, where they take none of the process's descriptors.
  worker.adopt_over_limit(std::move(socket), [this] {
    asio::post(workers_.front()->io(), [this] {
      if (acceptor_->is_open()) accept();
    });
  });
}

void HttpServer::wait_for_descriptors(const boost::system::error_code& reason) {
  if (!std::exchange(paused_, true)) {
    backplane_.host.log().warning("HTTP can not take connections for now: ", reason.message());
  }
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
    connections_.no_more_come();
  });
}

void HttpServer::drain(int64_t deadline_ns, bool exiting) {
  if (exiting) {
    backplane_.calls.close();
  } else {
    close_listener();
  }
  for (auto& worker : workers_) worker->drain(deadline_ns, exiting);
}

void HttpServer::stop() {
  backplane_.calls.close();
  if (acceptor_ != nullptr) {
    close_listener();
    for (auto& worker : workers_) worker->close_connections();
    auto busy = [this] {
      if (backplane_.calls.calls() > 0) return true;
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
