/// The transport's half of one ModelInfer call: the bytes gRPC received and the bytes it sends. The other half, from
/// reading the request to what is answered, is the V2UnaryCall that it has.
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

class GrpcInferCall final {
 public:
  /// Waits for the queue's next call, with a context of the pool or a new one.
  static void arm(InferQueue& queue);

  explicit GrpcInferCall(InferQueue& queue);
  GrpcInferCall(const GrpcInferCall&) = delete;
  GrpcInferCall& operator=(const GrpcInferCall&) = delete;

 private:
  using ServiceCall = V2UnaryCall<GrpcInferCall, ReceivedMessage>;
  friend ServiceCall;
  enum Part : uint32_t {
    kWritePart = ServiceCall::kTransportPart,
    kEndPart = ServiceCall::kTransportPart * 2
  };

  void wait();
  void on_start(bool ok);
  void on_access(bool) { service_.on_settled(); }
  void on_written(bool ok);
  void on_end(bool ok);
  void on_woken(bool) { service_.resume(); }
  void on_remote_answer(bool ok);

  // --- what V2UnaryCall wants of its transport ---
  Status take_access(std::string_view* caller) noexcept { return access_.take(caller); }
  const Identity* identity() const noexcept { return identity_of(access_.identity()); }
  CallReport* report() const noexcept { return access_.report(); }
  const CallMetadata* metadata() const noexcept { return &*head_; }
  int64_t deadline_ns() const noexcept;
  void begin_remote(const HostPort& server) noexcept;
  void to_own_thread() noexcept { wake_up_.send(*queue_.queue, woken_); }
  Status write(V2InferResponse& message) noexcept;
  void send() noexcept;
  void send_error(const Status& status, uint32_t retry_after_ms) noexcept;
  void recycle() noexcept;

  InferQueue& queue_;
  ServiceCall service_;
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
  grpc::ByteBuffer answer_;             ///< between write() and send()
  std::unique_ptr<RemoteCall> remote_;  ///< null: this server answers
};

}  // namespace atl::frontends::grpc_frontend
