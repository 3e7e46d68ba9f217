/// Every method but the inferences: who answers it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "frontends/common/grpc/call_context.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/grpc/calls/remote_channels.h"
#include "frontends/grpc/services.h"

namespace atl::frontends::grpc_frontend {

/// Owns the methods' descriptions; calls in flight refer to them, so it outlives the completion queues.
class MethodTable {
 public:
  MethodTable(GrpcCallContext& frontend, InferenceService& inference, HealthService& health);

  /// Waits for a call of every method on the queue.
  /// \param channels  of the queue
  void arm(grpc::ServerCompletionQueue& queue, RemoteChannels& channels);

 private:
  template <class Request, class Response>
  void add(const ListedMethod<Request, Response>& method);

  GrpcCallContext& frontend_;
  InferenceService& inference_;
  HealthService& health_;
  std::vector<std::function<void(grpc::ServerCompletionQueue&, RemoteChannels&)>> armers_;
};

}  // namespace atl::frontends::grpc_frontend
