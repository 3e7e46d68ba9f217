/// Calls on models that this server does not have, and another one does.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "atoll/pools/remote_models.h"
#include "frontends/common/management/management.h"

namespace atl::frontends {

/// The server to which a call on a model is passed on; nothing: this one answers it, even if only with a refusal. A model
/// of this server is not looked for elsewhere, unless the client names a lease. [request]
/// \param caller  whose leases are looked at; null: there are no identities \param lease  as the client says; empty: nothing
/// Errors: as RemoteModels::find().
Result<std::optional<RemoteServer>> find_remote_server(const ServerAccess& server, const Identity* caller,
                                                       std::string_view model,
                                                       std::string_view lease) noexcept;

/// Whether there can be one at all: for calls that would have to look for their lease first. [any]
inline bool has_remote_models(const ServerAccess& server) noexcept {
  return server.remote_models->is_present();
}

/// How a connection to such a server is made; null: without TLS. [any]
/// Errors: UNAVAILABLE there is nobody any more who knows.
Result<std::shared_ptr<const RemoteTls>> find_remote_tls(const ServerAccess& server,
                                                         const HostPort& address) noexcept;

/// Says in the log that TLS with such a server has failed, once a minute at most. [any]
void note_remote_tls_failure(const ServerAccess& server, const HostPort& address,
                             std::string_view why) noexcept;

/// Whether a header of a client's call is one that the other server gets too. Not: what is between the client and this
/// server alone, who the client is, and whatever the transport writes itself. [any]
bool is_passed_on(std::string_view name) noexcept;

}  // namespace atl::frontends
