#include "frontends/common/tls/tls_clients.h"

#include <utility>

namespace atl::frontends {

Result<std::unique_ptr<TlsChannel>> TlsClients::connect(int fd, const std::shared_ptr<const RemoteTls>& rules,
                                                        const HostPort& server) noexcept {
  if (rules_ != rules) {
    Result<TlsContext> made = TlsContext::make_client(
        {.root_cert = rules->root_cert, .client_cert = rules->client_cert, .client_key = rules->client_key},
        protocol_);
    if (!made.ok()) return std::move(made).status();
    context_ = std::move(made).value();
    rules_ = rules;
  }
  const std::string& name = rules->server_name.empty() ? server.host : rules->server_name;
  std::unique_ptr<TlsChannel> channel = TlsChannel::make(fd, context_->connect(name), thread_);
  if (channel == nullptr) return make_status(Code::kResourceExhausted, "no memory for TLS");
  return channel;
}

std::string TlsClients::failure_of(const TlsChannel& channel) {
  if (!channel.failure().empty()) return cat("TLS: ", channel.failure());
  return channel.is_open() ? "it has closed the connection"
                           : "TLS: it ended the connection instead of shaking hands";
}

}  // namespace atl::frontends
