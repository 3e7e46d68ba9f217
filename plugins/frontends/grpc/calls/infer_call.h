/// One ModelInfer call, from the bytes gRPC received to the bytes it sends.
///
/// The request's tensors are read where gRPC put them; the slices are held until the call is over. Large
/// output tensors are allocated so that gRPC sends, and then frees, the memory the backend filled.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>

#include "frontends/common/grpc/v2_unary_call.h"
#include "frontends/grpc/calls/call_access.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/calls/infer_queue.h"
#include "frontends/grpc/calls/received_message.h"
#include "frontends/grpc/calls/remote_call.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

class GrpcInferCall final : public V2UnaryCall<ReceivedMessage> {
 public:
  /// Waits for the queue's next call, with a context of the pool or a new one.
  static void arm(InferQueue& queue);

  explicit GrpcInferCall(InferQueue& queue);
  ~GrpcInferCall() override = default;

 private:
  enum TransportPart : uint32_t {
    kWritePart = InferContext::kTransportPart,
    kEndPart = InferContext::kTransportPart * 2
  };

  void wait();
  void on_start(bool ok);
  void on_access(bool) { on_settled(); }
  void on_written(bool ok);
  void on_end(bool ok);
  void on_woken(bool) { path_.resume(); }
  void on_remote_answer(bool ok);
  // --- V2UnaryCall ---
  const CallMetadata* metadata() const noexcept override { return &*head_; }
  int64_t deadline_ns() const noexcept override;
  Status take_access(std::string_view* caller) noexcept override { return access_.take(caller); }
  void begin_remote(const HostPort& server) noexcept override;
  void to_own_thread() noexcept override { wake_up_.send(*queue_.queue, woken_); }
  void answer(Response& response) noexcept override;
  void answer_error(const Status& status) noexcept override;
  void recycle() noexcept override;

  InferQueue& queue_;
  Step<GrpcInferCall> start_{this, &GrpcInferCall::on_start};
  Step<GrpcInferCall> settled_{this, &GrpcInferCall::on_access};
  Step<GrpcInferCall> written_{this, &GrpcInferCall::on_written};
  Step<GrpcInferCall> end_{this, &GrpcInferCall::on_end};
  Step<GrpcInferCall> woken_{this, &GrpcInferCall::on_woken};
  Step<GrpcInferCall> remote_answer_{this, &GrpcInferCall::on_remote_answer};
  CallAccess access_;
  WakeUp wake_up_;  ///< brings a request that waited back to its thread
  std::optional<grpc::ServerContext> context_;
  std::optional<MetadataHead> head_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
  std::unique_ptr<RemoteCall> remote_;  ///< null: this server answers
};

}  // namespace atl::frontends::grpc_frontend
