#include "frontends/common/management/remote_server.h"

#include <algorithm>
#include <array>
#include <utility>

namespace atl::frontends {
namespace {

constexpr auto kOwnHeaders = std::to_array<std::string_view>({
    // of one connection (RFC 9110, 7.6.1)
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    // written anew
    "content-length",
    "expect",
    "host",
    "user-agent",
    // of this server
    "authorization",
    "cookie",
    "proxy-authorization",
    RemoteModels::kLeaseHeader,
});

/// \param own  in lower case
bool is_same(std::string_view name, std::string_view own) noexcept {
  return std::ranges::equal(name, own, {}, [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
}

bool is_served_here(const ServerAccess& server, std::string_view model) noexcept {
  return server.router->route(*server.catalog, model, ModelCatalog::kLatest).ok();
}

}  // namespace

Result<std::optional<RemoteServer>> find_remote_server(const ServerAccess& server, const Identity* caller,
                                                       std::string_view model,
                                                       std::string_view lease) noexcept {
  auto remote = server.remote_models->hold();
  if (!remote || model.empty() || (lease.empty() && is_served_here(server, model)))
    return std::optional<RemoteServer>();
  Result<RemoteServer> found =
      remote.minor() < 1 ? remote->find(model, lease) : remote->find_for(owner_of(caller), model, lease);
  if (found.ok()) return std::optional(std::move(found).value());
  // What nobody has is refused by this server, in the words that it has for that.
  if (lease.empty() && found.status().code() == Code::kNotFound) return std::optional<RemoteServer>();
  return std::move(found).status();
}

Result<std::shared_ptr<const RemoteTls>> find_remote_tls(const ServerAccess& server,
                                                         const HostPort& address) noexcept {
  auto remote = server.remote_models->hold();
  // Nothing goes in plain that perhaps must not.
  if (!remote) return unavailable("nobody knows any more how ", address.text(), " is to be reached");
  if (remote.minor() < 2) return std::shared_ptr<const RemoteTls>();
  return remote->tls_of(address);
}

void note_remote_tls_failure(const ServerAccess& server, const HostPort& address,
                             std::string_view why) noexcept {
  if (const auto left_out = server.remote_tls_told->next(server.host->clock().now_ns()))
    server.host->log().warning("calls are not passed on to ", address.text(), ": ", why,
                               "; further failures of TLS with other servers are not told of for a minute, ",
                               *left_out, " were left out since the last one");
}

bool is_passed_on(std::string_view name) noexcept {
  return std::ranges::none_of(kOwnHeaders, [name](std::string_view own) { return is_same(name, own); });
}

}  // namespace atl::frontends
