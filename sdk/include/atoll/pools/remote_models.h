/// Models that other servers serve for the clients of this one. A frontend asks here for what its catalog does not have,
/// and passes the call on as it came: nothing of it is read or written anew.
/// Service "atoll.remote_models/1"; frontends work without one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/core/status.h"

namespace atl {

/// Where a call goes.
struct RemoteServer {
  HostPort http;
  HostPort grpc;  ///< no host: it has no gRPC
};

/// One model of one lease.
struct RemoteModel {
  std::string name;
  std::string lease;                     ///< id
  std::vector<std::string> lease_names;  ///< that stand for it now
  bool is_ready = false;
  std::string reason;   ///< why it is not ready
  RemoteServer server;  ///< of one that is ready
};

class RemoteModels {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.remote_models/1";
  /// HTTP header and gRPC metadata by which a client chooses the lease.
  static constexpr std::string_view kLeaseHeader = "atoll-lease";

  /// The server that serves the model. A call that was begun there ends there, wherever later ones go. [request]
  /// \param lease  id or name; empty: the oldest one that has the model and is ready
  /// Errors: NOT_FOUND no such lease, or none with such a model; UNAVAILABLE it is not ready.
  virtual Result<RemoteServer> find(std::string_view model, std::string_view lease) noexcept = 0;
  /// All of them, those of the oldest lease first. [any]
  virtual std::vector<RemoteModel> list() noexcept = 0;

 protected:
  ~RemoteModels() = default;
};

}  // namespace atl
