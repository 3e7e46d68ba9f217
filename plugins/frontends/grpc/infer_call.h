/// One ModelInfer call, from the bytes gRPC received to the bytes it sends.
///
/// The request's tensors are read where gRPC put them; the slices are held until the call is over. Large
/// output tensors are allocated so that gRPC sends, and then frees, the memory the backend filled.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <vector>

#include "atoll/gate.h"
#include "backplane.h"
#include "common/context_pool.h"
#include "common/unary_infer_context.h"
#include "common/v2_infer_request.h"
#include "event.h"
#include "services.h"

namespace atl::frontends::grpc_frontend {

class InferCall;

/// What the calls of one completion queue share.
struct InferQueue {
  InferQueue(Backplane& shared, InferenceService& inference_service,
             std::unique_ptr<grpc::ServerCompletionQueue> completion_queue);

  Backplane& backplane;
  InferenceService& service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  ContextPool<InferCall> pool;
};

class InferCall final : public UnaryInferContext {
 public:
  /// Waits for the queue's next call, with a context of the pool or a new one.
  static void arm(InferQueue& queue);

  explicit InferCall(InferQueue& queue);
  ~InferCall() override = default;

 private:
  enum TransportPart : uint32_t { kWritePart = kTransportPart, kEndPart = kTransportPart * 2 };

  /// One of the call's three operations.
  struct Step final : Event {
    Step(InferCall* owner, void (InferCall::*step_function)(bool)) : call(owner), function(step_function) {}
    void on_event(bool ok) noexcept override { (call->*function)(ok); }
    InferCall* call;
    void (InferCall::*function)(bool);
  };

  void wait();
  void on_start(bool ok);
  void on_written(bool ok);
  void on_end(bool ok);
  /// Reads the request, finds the model, hands over. On failure nothing was handed over.
  Status run() noexcept;
  Status read_slices() noexcept;
  int64_t deadline_ns() const noexcept;

  // --- UnaryInferContext ---
  Status allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept override;
  void drop_outputs(Response& response) noexcept override;
  void answer(Response& response) noexcept override;
  void answer_error(const Status& status) noexcept override;
  void recycle() noexcept override;

  InferQueue& queue_;
  Step start_{this, &InferCall::on_start};
  Step written_{this, &InferCall::on_written};
  Step end_{this, &InferCall::on_end};
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
  grpc::ByteBuffer received_;
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSpan> spans_;
  V2InferRequest message_;
  Pass pass_;
};

}  // namespace atl::frontends::grpc_frontend
