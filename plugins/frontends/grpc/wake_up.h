/// Brings an object back to its completion queue's thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/server_builder.h>

#include <optional>

#include "frontends/grpc/calls/event.h"

namespace atl::frontends::grpc_frontend {

class WakeUp {
 public:
  /// The event ends on the queue's thread, at once, and may destroy this object: the caller reads nothing of
  /// its own afterwards. [any], but not again before it has ended.
  void send(grpc::ServerCompletionQueue& queue, Event& event) {
    alarm_.emplace();
    alarm_->Set(&queue, gpr_inf_past(GPR_CLOCK_MONOTONIC), event.tag());
  }

 private:
  std::optional<grpc::Alarm> alarm_;
};

}  // namespace atl::frontends::grpc_frontend
