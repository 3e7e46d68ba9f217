#include "frontends/http/remote_connections.h"

#include <functional>
#include <utility>

#include "atoll/core/clock.h"

namespace atl::frontends::http {
namespace {

constexpr size_t kScratchBytes = 64 * 1024;
/// Less than servers let a connection be idle: it is not to end under a request.
constexpr int64_t kMostIdleNs = 15 * kNsPerSecond;
constexpr size_t kMostIdle = 64;  ///< to one server

}  // namespace

RemoteConnections::RemoteConnections(EventLoop& loop, const ServerAccess& access)
    : lookup_(loop),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratchBytes)),
      tls_(loop, TlsProtocol::kHttp1),
      context_{loop, lookup_, std::span(scratch_.get(), kScratchBytes), tls_, access} {}

RemoteConnections::~RemoteConnections() {
  for (auto& [address, connections] : idle_) {
    for (Idle& idle : connections) idle.connection->close();
  }
}

Result<std::shared_ptr<RemoteConnection>> RemoteConnections::take(const HostPort& server, int64_t now_ns) {
  close_old(now_ns);
  Result<std::shared_ptr<const RemoteTls>> rules = find_remote_tls(context_.access, server);
  if (!rules.ok()) return std::move(rules).status();
  if (const auto found = idle_.find(server.text()); found != idle_.end()) {
    std::deque<Idle>& waiting = found->second;
    while (!waiting.empty()) {
      const std::shared_ptr<RemoteConnection> connection = std::move(waiting.back().connection);
      waiting.pop_back();
      if (connection->rules() == rules.value() && connection->is_usable()) return connection;
      connection->close();
    }
  }
  return std::make_shared<RemoteConnection>(context_, server, std::move(rules).value());
}

void RemoteConnections::give(std::shared_ptr<RemoteConnection> connection, int64_t now_ns) {
  std::deque<Idle>& waiting = idle_[connection->server().text()];
  if (waiting.size() >= kMostIdle) return connection->close();
  connection->wait_unused();
  waiting.push_back({std::move(connection), now_ns});
}

void RemoteConnections::close_old(int64_t now_ns) {
  if (now_ns - looked_ns_ < kNsPerSecond) return;
  looked_ns_ = now_ns;
  for (auto& [address, waiting] : idle_) {
    while (!waiting.empty() && now_ns - waiting.front().since_ns > kMostIdleNs) {
      waiting.front().connection->close();
      waiting.pop_front();
    }
  }
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace atl::frontends::http
