/// What the calls of one thread share.
#pragma once

#include <memory>
#include <vector>

#include "frontends/common/grpc/call_context.h"
#include "frontends/grpc_nghttp2/transport/worker.h"

namespace atl::frontends::grpc_nghttp2 {

class InferCall;

struct CallThread {
  CallThread(GrpcCallContext& shared, Worker& worker) noexcept;
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;
  ~CallThread();

  GrpcCallContext& frontend;
  EventLoop& loop;
  BufferPool& buffers;
  std::vector<std::unique_ptr<InferCall>> idle_infer_calls;
};

}  // namespace atl::frontends::grpc_nghttp2
