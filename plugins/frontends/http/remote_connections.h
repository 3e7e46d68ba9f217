/// The connections of one thread to other servers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "atoll/core/host_port.h"
#include "frontends/http/remote_connection.h"

namespace atl::frontends::http {

/// [its thread]
class RemoteConnections {
 public:
  /// \param access  which outlives this, says how connections are made
  RemoteConnections(EventLoop& loop, const ServerAccess& access);
  RemoteConnections(const RemoteConnections&) = delete;
  RemoteConnections& operator=(const RemoteConnections&) = delete;
  ~RemoteConnections();

  /// One that waits, or a new one. Errors: as find_remote_tls().
  Result<std::shared_ptr<RemoteConnection>> take(const HostPort& server, int64_t now_ns);
  /// It has ended its exchange and can be used again.
  void give(std::shared_ptr<RemoteConnection> connection, int64_t now_ns);

 private:
  struct Idle {
    std::shared_ptr<RemoteConnection> connection;
    int64_t since_ns = 0;
  };

  void close_old(int64_t now_ns);

  HostLookup lookup_;
  const std::unique_ptr<char[]> scratch_;
  TlsClients tls_;
  const RemoteConnectionContext context_;
  std::map<std::string, std::deque<Idle>, std::less<>> idle_;  ///< by address, the longest idle one first
  int64_t looked_ns_ = 0;
};

}  // namespace atl::frontends::http
