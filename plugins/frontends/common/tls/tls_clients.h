/// TLS of connections to other servers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "atoll/core/host_port.h"
#include "atoll/pools/remote_models.h"
#include "frontends/common/tls/tls_channel.h"

namespace atl::frontends {

/// What the connections of one thread to other servers share of TLS; outlives them. All functions on the thread.
class TlsClients {
 public:
  TlsClients(EventLoop& loop, TlsProtocol protocol) noexcept : protocol_(protocol), thread_(loop) {}
  TlsClients(const TlsClients&) = delete;
  TlsClients& operator=(const TlsClients&) = delete;

  /// The TLS of a connection, whose handshake shake_hands() begins. \param fd  is connected
  /// Errors: INVALID_ARGUMENT the rules are no use; RESOURCE_EXHAUSTED there is no memory.
  Result<std::unique_ptr<TlsChannel>> connect(int fd, const std::shared_ptr<const RemoteTls>& rules,
                                              const HostPort& server) noexcept;

  /// Why a handshake has failed, or a connection was broken off, for whoever has waited for it.
  static std::string failure_of(const TlsChannel& channel);

 private:
  const TlsProtocol protocol_;
  TlsThread thread_;
  std::shared_ptr<const RemoteTls> rules_;  ///< of the context
  std::optional<TlsContext> context_;
};

}  // namespace atl::frontends
