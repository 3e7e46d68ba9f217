/// Connections to the servers that calls are passed on to, of one completion queue.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "atoll/core/host_port.h"
#include "frontends/common/management/remote_server.h"

namespace atl::frontends::grpc_frontend {

/// [queue's thread]
class RemoteChannels {
 public:
  /// \param access  which outlives this, says how connections are made
  explicit RemoteChannels(const ServerAccess& access) noexcept : access_(access) {}
  /// \param now_ns  channels that nobody has asked for in a while before that are let go
  std::shared_ptr<grpc::GenericStub> stub(const HostPort& server, int64_t now_ns);

 private:
  struct Entry {
    std::shared_ptr<grpc::GenericStub> stub;
    std::shared_ptr<const RemoteTls> rules;  ///< null: without TLS
    int64_t last_use_ns = 0;
  };

  void drop_unused(int64_t now_ns);

  const ServerAccess& access_;
  std::map<std::string, Entry, std::less<>> entries_;  ///< by address
  int64_t looked_ns_ = 0;
};

}  // namespace atl::frontends::grpc_frontend
