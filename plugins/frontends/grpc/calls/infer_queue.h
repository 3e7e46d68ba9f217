/// What the inference calls of one completion queue share.
#pragma once

#include <grpcpp/completion_queue.h>

#include <memory>

#include "frontends/common/call/context_pool.h"
#include "frontends/common/grpc/call_context.h"
#include "frontends/grpc/calls/remote_channels.h"
#include "frontends/grpc/calls/stream_list.h"
#include "frontends/grpc/services.h"

namespace atl::frontends::grpc_frontend {

class GrpcInferCall;
class StreamRequest;

struct InferQueue {
  InferQueue(GrpcCallContext& shared, InferenceService& inference_service,
             std::unique_ptr<grpc::ServerCompletionQueue> completion_queue);
  ~InferQueue();

  /// As the context's.
  int64_t trace_time_ns() const noexcept { return frontend.trace_time_ns(); }

  GrpcCallContext& frontend;
  InferenceService& service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  ContextPool<GrpcInferCall> calls;
  ContextPool<StreamRequest> stream_requests;
  StreamList streams;
  RemoteChannels remote_channels;
};

}  // namespace atl::frontends::grpc_frontend
