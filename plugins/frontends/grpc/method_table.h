/// Every method but the inferences: who answers it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "atoll/access.h"
#include "frontends/grpc/grpc_context.h"
#include "frontends/grpc/remote_channels.h"
#include "frontends/grpc/services.h"

namespace atl::frontends::grpc_frontend {

/// Owns the methods' descriptions; calls in flight refer to them, so it outlives the completion queues.
class MethodTable {
 public:
  MethodTable(GrpcContext& frontend, InferenceService& inference, HealthService& health);

  /// Waits for a call of every method on the queue.
  /// \param channels  of the queue
  void arm(grpc::ServerCompletionQueue& queue, RemoteChannels& channels);

 private:
  template <class Request, class Response, class Arm, class Handle>
  void add(Arm arm, ApiCategory category, bool holds_pass, Handle handle, const char* path = nullptr);

  void add_health();
  void add_models();
  void add_repository();
  void add_shared_memory();
  void add_settings();

  GrpcContext& frontend_;
  InferenceService& inference_;
  HealthService& health_;
  std::vector<std::function<void(grpc::ServerCompletionQueue&, RemoteChannels&)>> armers_;
};

}  // namespace atl::frontends::grpc_frontend
