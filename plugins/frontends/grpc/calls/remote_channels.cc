#include "frontends/grpc/calls/remote_channels.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "atoll/core/clock.h"

namespace atl::frontends::grpc_frontend {
namespace {

const RemoteTls kNobody{"-", {}, {}, {}};

constexpr int64_t kUnusedNs = 60 * kNsPerSecond;
/// A server that has just been started, or is being so, is found soon.
constexpr int kFirstBackoffMs = 100;
constexpr int kLongestBackoffMs = 1000;

/// \param rules  null: without TLS
std::shared_ptr<grpc::ChannelCredentials> credentials(const RemoteTls* rules) {
  if (rules == nullptr) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = rules->root_cert,
                               .pem_private_key = rules->client_key,
                               .pem_cert_chain = rules->client_cert});
}

std::shared_ptr<grpc::GenericStub> make_stub(const std::string& address, const RemoteTls* rules) {
  grpc::ChannelArguments arguments;
  if (rules != nullptr && !rules->server_name.empty()) arguments.SetSslTargetNameOverride(rules->server_name);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // A request may not be made twice; without retries a call also takes less.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MINIMAL_STACK, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kFirstBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestBackoffMs);
  return std::make_shared<grpc::GenericStub>(
      grpc::CreateCustomChannel(address, credentials(rules), arguments));
}

}  // namespace

std::shared_ptr<grpc::GenericStub> RemoteChannels::stub(const HostPort& server, int64_t now_ns) {
  if (now_ns - looked_ns_ > kUnusedNs) drop_unused(now_ns);
  const std::string address = server.text();
  Entry& entry = entries_[address];
  Result<std::shared_ptr<const RemoteTls>> rules = find_remote_tls(access_, server);
  // Where nobody says so any more, nothing goes in plain that perhaps must not: no server is trusted by an empty text.
  if (!rules.ok()) return make_stub(address, &kNobody);
  if (entry.stub == nullptr || entry.rules != rules.value()) {
    entry.rules = std::move(rules).value();
    entry.stub = make_stub(address, entry.rules.get());
  }
  entry.last_use_ns = now_ns;
  return entry.stub;
}

void RemoteChannels::drop_unused(int64_t now_ns) {
  looked_ns_ = now_ns;
  std::erase_if(entries_, [&](const auto& entry) { return now_ns - entry.second.last_use_ns > kUnusedNs; });
}

}  // namespace atl::frontends::grpc_frontend
