#include "frontends/grpc_nghttp2/transport/server.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr int64_t kTellIntervalNs = 60 * kNsPerSecond;

}  // namespace

Server::Server(const TransportContext& transport, ServerSettings settings, Log& log)
    : transport_(transport), settings_(std::move(settings)), log_(log) {}

Server::~Server() { stop(); }

Result<int> Server::start() noexcept {
  try {
    for (uint32_t i = 0; i < settings_.threads; ++i) {
      workers_.push_back(std::make_unique<ServingThread>(transport_));
      ATOLL_RETURN_IF_ERROR(workers_.back()->open());
    }
    Result<ListeningSocket> socket = listen_on(settings_.address, settings_.listen, settings_.name);
    if (!socket.ok()) return std::move(socket).status();
    acceptor_ = std::make_unique<Acceptor>(workers_.front()->loop(), log_, settings_.name,
                                           [this](int fd) { take(fd); });
    const int port = socket->port;
    ATOLL_RETURN_IF_ERROR(acceptor_->open(std::move(socket).value(), settings_.opening));
    for (size_t i = 0; i < workers_.size(); ++i) workers_[i]->start(cat("grpc-", i));
    started_ = true;
    return port;
  } catch (const std::system_error& error) {
    return make_status(Code::kResourceExhausted, "cannot start ", settings_.name, ": ", error.what());
  } catch (const std::exception& error) {
    return internal_error("cannot start ", settings_.name, ": ", error.what());
  }
}

void Server::take(int fd) noexcept {
  if (!settings_.limit.allows(open_connections() + 1, fd)) {
    ::close(fd);
    refused_.fetch_add(1, std::memory_order_relaxed);
    const int64_t now = transport_.clock.now_ns();
    if (told_full_ns_ != 0 && now - told_full_ns_ <= kTellIntervalNs) return;
    told_full_ns_ = now;
    log_.warning(settings_.name, " has as many connections as it may have (", open_connections(),
                 "), or the process as many descriptors: further ones are closed");
    return;
  }
  const auto fewest = std::min_element(
      workers_.begin(), workers_.end(),
      [](const auto& one, const auto& other) { return one->connections() < other->connections(); });
  (*fewest)->adopt(fd);
}

void Server::close_listener() {
  if (acceptor_ == nullptr) return;
  if (!started_) return acceptor_.reset();
  std::promise<void> closed;
  workers_.front()->run([this, &closed] {
    acceptor_->close();
    closed.set_value();
  });
  closed.get_future().wait();
}

void Server::go_away() noexcept {
  for (const auto& worker : workers_) worker->go_away();
}

void Server::close_connections() noexcept {
  for (const auto& worker : workers_) worker->close_connections();
}

bool Server::closed() const noexcept {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->closed() && worker->loop().nobody_posts(); });
}

int64_t Server::open_connections() const noexcept {
  int64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->connections();
  return sum;
}

void Server::stop() noexcept {
  close_listener();
  for (const auto& worker : workers_) worker->stop();
  acceptor_.reset();  // it is on the first worker's loop
  workers_.clear();
  started_ = false;
}

}  // namespace atl::frontends::grpc_nghttp2
