#include "frontends/common/http/http_server.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "frontends/common/tcp_listener.h"

namespace atl::frontends::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int kBacklog = 1024;
/// How long the listener waits when the process has no descriptor left.
constexpr auto kDescriptorPause = std::chrono::milliseconds(100);

}  // namespace

HttpServer::~HttpServer() { stop(); }

HttpServer::HttpServer(ServerContext context)
    : context_(std::move(context)),
      limit_(ConnectionLimit::make(context_.options.max_connections, context_.options.descriptor_share,
                                   context_.host.log())),
      connections_([this] { context_.application.close(); }) {}

Result<int> HttpServer::start() noexcept {
  const ServerOptions& options = context_.options;
  try {
    for (uint32_t i = 0; i < options.threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(context_, connections_));
    }
    int bound_port = 0;
    ATOLL_RETURN_IF_ERROR(listen(&bound_port));
    for (size_t i = 0; i < workers_.size(); ++i) workers_[i]->start(cat(options.thread_name, i));
    accept();
    return bound_port;
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "can not start ", options.name, ": ", error.what());
  } catch (const std::exception& error) {
    return internal_error("can not start ", options.name, ": ", error.what());
  }
}

Status HttpServer::listen(int* bound_port) {
  asio::io_context& io = workers_.front()->io();
  auto acceptor = std::make_unique<tcp::acceptor>(io);
  const ListenOptions options{.take_over = context_.host.replaces_running_instance(), .backlog = kBacklog};
  ATOLL_RETURN_IF_ERROR(
      open_listener(context_.options.address, options, context_.options.name, acceptor.get(), bound_port));
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
    context_.host.log().warning(context_.options.name,
                                " can not take connections for now: ", reason.message());
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

uint64_t HttpServer::requests(uint32_t category, uint32_t status_class) const noexcept {
  uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->counters.count(category, status_class);
  return sum;
}

void HttpServer::drain(int64_t deadline_ns, bool exiting) {
  if (exiting) {
    context_.application.close();
  } else {
    close_listener();
  }
  for (auto& worker : workers_) worker->drain(deadline_ns, exiting);
}

void HttpServer::stop() {
  context_.application.close();
  if (acceptor_ != nullptr) {
    close_listener();
    for (auto& worker : workers_) worker->close_connections();
    auto busy = [this] {
      if (context_.application.calls() > 0 || context_.access.unsettled() > 0) return true;
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
