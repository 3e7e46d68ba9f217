#include "frontends/common/http/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "frontends/common/sockets/listening_socket.h"

namespace atl::frontends::http {

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
      workers_.push_back(std::make_unique<ServingThread>(context_, connections_));
      ATOLL_RETURN_IF_ERROR(workers_.back()->open());
    }
    int bound_port = 0;
    ATOLL_RETURN_IF_ERROR(listen(&bound_port));
    for (size_t i = 0; i < workers_.size(); ++i) workers_[i]->start(cat(options.thread_name, i));
    return bound_port;
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "cannot start ", options.name, ": ", error.what());
  } catch (const std::exception& error) {
    return internal_error("cannot start ", options.name, ": ", error.what());
  }
}

Status HttpServer::listen(int* bound_port) {
  const ServerOptions& options = context_.options;
  Result<ListeningSocket> socket = listen_on(
      options.address, {.host = &context_.host, .opens_later = options.open_after_startup}, options.name);
  if (!socket.ok()) return std::move(socket).status();
  auto acceptor = std::make_unique<Acceptor>(workers_.front()->loop, context_.host.log(), options.name,
                                             [this](int fd) { take(fd); });
  *bound_port = socket->port;
  ATOLL_RETURN_IF_ERROR(acceptor->open(
      std::move(socket).value(), opening_of(context_.host, options.open_after_startup, context_.opened)));
  acceptor_ = std::move(acceptor);
  return {};
}

void HttpServer::take(int fd) {
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ServingThread& worker = *workers_[next_worker_];
  next_worker_ = (next_worker_ + 1) % workers_.size();
  if (limit_.allows(connections_.add(), fd)) return worker.adopt(fd);
  // Over the limit the next one is taken when this one has been decided: of a flood the others wait in the
  // listener's queue, where they take none of the process's descriptors.
  acceptor_->pause();
  worker.adopt_over_limit(fd, [this] {
    workers_.front()->run([this] {
      if (acceptor_ != nullptr) acceptor_->resume();  // stop() may have been quicker
    });
  });
}

void HttpServer::close_listener() {
  workers_.front()->run([this] {
    acceptor_->close();
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
        if (!worker->closed() || !worker->loop.nobody_posts()) return true;
      }
      return false;
    };
    while (busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (auto& worker : workers_) worker->stop();
  acceptor_.reset();  // it is on the first worker's loop
  workers_.clear();
}

}  // namespace atl::frontends::http
