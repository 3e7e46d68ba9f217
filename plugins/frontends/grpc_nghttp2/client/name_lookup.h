/// From a server's name to its address.
#pragma once

#include <string>

#include "atoll/core/host_port.h"
#include "frontends/common/grpc/call_context.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/common/sockets/socket_address.h"

namespace atl::frontends::grpc_nghttp2 {

/// [loop]
class LookupUser {
 public:
  virtual void on_found(const SocketAddress& address) noexcept = 0;
  virtual void on_not_found(std::string reason) noexcept = 0;

 protected:
  ~LookupUser() = default;
};

/// Addresses are read where they are; names are asked for on another thread, as that may take long. [loop]
class NameLookup {
 public:
  NameLookup() noexcept = default;
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;
  /// The user hears nothing more.
  ~NameLookup() { cancel(); }

  /// Once. The user may be told before this returns.
  void start(GrpcCallContext& frontend, EventLoop& loop, const HostPort& server, LookupUser& user) noexcept;
  void cancel() noexcept;

 private:
  class Question;
  Question* question_ = nullptr;  ///< null: nothing is asked
};

}  // namespace atl::frontends::grpc_nghttp2
