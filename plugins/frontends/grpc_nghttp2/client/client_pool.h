/// Connections to the servers that calls are passed on to, of one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontends/grpc_nghttp2/client/client_connection.h"

namespace atl::frontends::grpc_nghttp2 {

/// [loop]
class ClientPool {
 public:
  ClientPool(GrpcCallContext& frontend, EventLoop& loop, BufferPool& buffers) noexcept
      : context_{loop, buffers, frontend} {}
  ~ClientPool();

  /// Begins a call, which is told of no sooner than in the next step of the loop.
  /// Errors: UNAVAILABLE the server could not be reached a moment ago; RESOURCE_EXHAUSTED no memory.
  Result<std::shared_ptr<ClientStream>> begin(const HostPort& server, const ClientRequest& request,
                                              ClientCall& call) noexcept;

 private:
  struct Entry {
    std::shared_ptr<ClientConnection> connection;
    int64_t begun_ns = 0;
    int64_t last_use_ns = 0;
  };

  Status connect(const HostPort& server, std::shared_ptr<const RemoteTls> rules, Entry* entry) noexcept;
  void drop_unused(int64_t now_ns) noexcept;

  ClientContext context_;
  nghttp2_session_callbacks* callbacks_ = nullptr;
  std::map<std::string, Entry, std::less<>> entries_;       ///< by address
  std::vector<std::shared_ptr<ClientConnection>> leaving_;  ///< that take no more calls and have some
  int64_t looked_ns_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
