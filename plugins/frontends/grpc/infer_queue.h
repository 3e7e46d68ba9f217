/// What the inference calls of one completion queue share.
#pragma once

#include <grpcpp/completion_queue.h>

#include <memory>

#include "frontends/common/context_pool.h"
#include "frontends/grpc/backplane.h"
#include "frontends/grpc/services.h"
#include "frontends/grpc/stream_list.h"

namespace atl::frontends::grpc_frontend {

class InferCall;
class StreamRequest;

struct InferQueue {
  InferQueue(Backplane& shared, InferenceService& inference_service,
             std::unique_ptr<grpc::ServerCompletionQueue> completion_queue);
  ~InferQueue();

  /// Now, if requests are traced at all; else 0.
  int64_t trace_time_ns() const noexcept {
    return backplane.server.tracing->is_present() ? backplane.host.clock().now_ns() : 0;
  }

  Backplane& backplane;
  InferenceService& service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  ContextPool<InferCall> calls;
  ContextPool<StreamRequest> stream_requests;
  StreamList streams;
};

}  // namespace atl::frontends::grpc_frontend
