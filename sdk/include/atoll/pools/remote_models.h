/// Models that other servers serve for the clients of this one. A frontend asks here for a model
/// that its catalog does not have, and passes the call on as it came: nothing of the call is read
/// or written anew. Service "atoll.remote_models/1", provided by pools/leases; frontends work
/// without one.
///
///     Result<RemoteServer> server = remote->find("resnet50", header(RemoteModels::kLeaseHeader));
///     if (!server.ok()) return refuse(std::move(server).status());
///     pass_on(call, server->http);
///
/// Owners, since minor 1. Where callers are known (atoll/frontend/access.h) a lease belongs to whoever has asked for it: names of
/// two owners are apart, and to the calls of one owner there are no leases of others. The functions without an owner are those of
/// nobody, to whom leases belong where callers are not known.
///
/// TLS, since minor 2. Calls to some servers, such as those of other machines, go by TLS: before a frontend connects to a server
/// it asks tls_of() for the rules.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/core/status.h"

namespace atl {

/// Where a call goes.
struct RemoteServer {
  HostPort http;
  /// Empty host: the server has no gRPC.
  HostPort grpc;
};

/// One model of one lease.
struct RemoteModel {
  /// The name by which clients ask for the model.
  std::string name;
  /// The lease's id.
  std::string lease;
  /// Names that stand for this lease now: a client may send one of them instead of the id.
  std::vector<std::string> lease_names;
  /// Whether calls are passed on now.
  bool is_ready = false;
  /// Why the model is not ready; empty if it is.
  std::string reason;
  /// The server of a model that is ready; otherwise of no meaning.
  RemoteServer server;
};

/// By what a server is trusted, and what it is shown. Texts of PEM files, read and checked by the provider.
struct RemoteTls {
  /// Certificates that may have signed the server's.
  std::string root_cert;
  /// The certificate that the server is shown where it asks for one, then those that lead to its authority. Empty: none.
  std::string client_cert;
  /// Its private key. Empty where client_cert is.
  std::string client_key;
  /// The name (DNS) that the server's certificate has to be for. Empty: the host of its address, be that a name or an IP address.
  std::string server_name;
};

/// All leased models that there are. Frontends ask for each call, so the answer takes a look-up and
/// no wait.
class RemoteModels {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.remote_models/1";
  /// The HTTP header and gRPC metadata by which a client chooses the lease.
  static constexpr std::string_view kLeaseHeader = "atoll-lease";

  /// The server that serves the model now. A call that has begun at a server ends there, wherever
  /// later calls go. [request]
  /// \param model  a name, as the client has sent it
  /// \param lease  a lease's id or name; empty: the oldest lease that has the model and is ready
  /// Errors: NOT_FOUND if there is no such lease, or none with such a model; UNAVAILABLE if the
  /// model is not ready.
  virtual Result<RemoteServer> find(std::string_view model, std::string_view lease) noexcept = 0;
  /// All models of all leases, those of the oldest lease first. For the repository index. [any]
  virtual std::vector<RemoteModel> list() noexcept = 0;

  // --- since minor 1: the functions of these names, for the leases of one owner ---
  /// [request] \param owner  owner_of() the caller's identity (atoll/frontend/access.h); empty: nobody
  virtual Result<RemoteServer> find_for(std::string_view owner, std::string_view model,
                                        std::string_view lease) noexcept {
    if (owner.empty()) return find(model, lease);
    return not_found("lease '", lease, "' is not found: leases of this server have no owners");
  }
  virtual std::vector<RemoteModel> list_for(std::string_view owner) noexcept {
    return owner.empty() ? list() : std::vector<RemoteModel>();
  }

  // --- since minor 2 ---
  /// How connections to a server are made. The pointer is the same one as long as the rules are the same; a frontend uses no
  /// connection that was made by others. [any]
  /// \param address  of a server that find() or find_for() has named, be it that of HTTP or of gRPC
  /// \returns null: without TLS
  virtual std::shared_ptr<const RemoteTls> tls_of(const HostPort& address) noexcept {
    (void)address;
    return nullptr;
  }

 protected:
  ~RemoteModels() = default;
};

}  // namespace atl
