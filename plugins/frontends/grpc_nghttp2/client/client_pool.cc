#include "frontends/grpc_nghttp2/client/client_pool.h"

#include <utility>

#include "frontends/common/management/remote_server.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr int64_t kUnusedNs = 60 * kNsPerSecond;
/// A server that cannot be reached is not tried again sooner: one that is just being started is found soon.
constexpr int64_t kBackoffNs = 100 * kNsPerMs;

}  // namespace

ClientPool::~ClientPool() {
  leaving_.clear();
  entries_.clear();
  nghttp2_session_callbacks_del(callbacks_);
}

Result<std::shared_ptr<ClientStream>> ClientPool::begin(const HostPort& server, const ClientRequest& request,
                                                        ClientCall& call) noexcept {
  const int64_t now = context_.loop.now_ns();
  if (now - looked_ns_ > kUnusedNs) drop_unused(now);
  Result<std::shared_ptr<const RemoteTls>> rules = find_remote_tls(context_.frontend.server, server);
  if (!rules.ok()) return std::move(rules).status();
  Entry& entry = entries_[server.text()];
  entry.last_use_ns = now;
  ClientConnection* connection = entry.connection.get();
  const bool is_usable = connection != nullptr && connection->rules() == rules.value();
  if (!is_usable || !connection->takes_calls()) {
    if (is_usable && !connection->was_connected() && now - entry.begun_ns < kBackoffNs) {
      return connection->lost().clone();
    }
    ATOLL_RETURN_IF_ERROR(connect(server, std::move(rules).value(), &entry));
  }
  return entry.connection->begin(request, call);
}

Status ClientPool::connect(const HostPort& server, std::shared_ptr<const RemoteTls> rules,
                           Entry* entry) noexcept {
  if (callbacks_ == nullptr) callbacks_ = make_client_callbacks();
  if (callbacks_ == nullptr) return make_status(Code::kResourceExhausted, "no memory for HTTP/2 sessions");
  if (entry->connection != nullptr && !entry->connection->is_unused()) {
    leaving_.push_back(std::move(entry->connection));
  }
  entry->begun_ns = context_.loop.now_ns();
  entry->connection = std::make_shared<ClientConnection>(context_, server, std::move(rules));
  Status opened = entry->connection->open(callbacks_);
  if (!opened.ok()) entry->connection.reset();
  return opened;
}

void ClientPool::drop_unused(int64_t now_ns) noexcept {
  looked_ns_ = now_ns;
  std::erase_if(leaving_, [](const auto& connection) { return connection->is_unused(); });
  std::erase_if(entries_, [&](const auto& entry) {
    return now_ns - entry.second.last_use_ns > kUnusedNs && entry.second.connection != nullptr &&
           entry.second.connection->is_unused();
  });
}

}  // namespace atl::frontends::grpc_nghttp2
