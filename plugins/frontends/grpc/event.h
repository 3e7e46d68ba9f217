/// What a completion queue carries: an object that is told when its operation has ended.
#pragma once

#include <grpcpp/support/status.h>

#include "atoll/status.h"
#include "common/error_map.h"

namespace atl::frontends::grpc_frontend {

class Event {
 public:
  /// [completion queue's thread] \param ok  false: the operation did not happen, the call is over or the
  /// queue shuts down.
  virtual void on_event(bool ok) noexcept = 0;

 protected:
  ~Event() = default;
};

inline grpc::Status to_grpc(const Status& status) {
  return {static_cast<grpc::StatusCode>(grpc_code(status.code())), client_text(status)};
}

}  // namespace atl::frontends::grpc_frontend
