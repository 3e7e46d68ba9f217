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

#include "atoll/gate.h"
#include "frontends/common/unary_infer_context.h"
#include "frontends/grpc/call_access.h"
#include "frontends/grpc/event.h"
#include "frontends/grpc/infer_queue.h"
#include "frontends/grpc/received_message.h"
#include "frontends/grpc/remote_call.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

class GrpcInferCall final : public UnaryInferContext {
 public:
  /// Waits for the queue's next call, with a context of the pool or a new one.
  static void arm(InferQueue& queue);

  explicit GrpcInferCall(InferQueue& queue);
  ~GrpcInferCall() override = default;

 private:
  enum TransportPart : uint32_t { kWritePart = kTransportPart, kEndPart = kTransportPart * 2 };

  void wait();
  void on_start(bool ok);
  /// It is known whether the call may be made.
  void on_settled(bool ok);
  void on_written(bool ok);
  void on_end(bool ok);
  void on_woken(bool) { resume(); }
  void on_remote_answer(bool ok);
  /// Opens and parses the message. \returns false: that is done elsewhere, and find() goes on
  Result<bool> read() noexcept;
  /// The message is read, or can not be.
  bool find(Status read) noexcept;
  /// Has another server answer, if that has the model. \returns false: none has
  bool pass_on() noexcept;

  // --- UnaryInferContext ---
  Status read_large() noexcept override;
  Result<bool> parse_request() noexcept override;
  Status read_head() noexcept override;
  void to_own_thread() noexcept override { wake_up_.send(*queue_.queue, woken_); }
  Status check_output(const OutputTensor& output, uint64_t size_bytes) noexcept override;
  void answer(Response& response) noexcept override;
  void answer_error(const Status& status) noexcept override;
  void recycle() noexcept override;

  InferQueue& queue_;
  Step<GrpcInferCall> start_{this, &GrpcInferCall::on_start};
  Step<GrpcInferCall> settled_{this, &GrpcInferCall::on_settled};
  Step<GrpcInferCall> written_{this, &GrpcInferCall::on_written};
  Step<GrpcInferCall> end_{this, &GrpcInferCall::on_end};
  Step<GrpcInferCall> woken_{this, &GrpcInferCall::on_woken};
  Step<GrpcInferCall> remote_answer_{this, &GrpcInferCall::on_remote_answer};
  CallAccess access_;
  WakeUp wake_up_;  ///< brings a request that waited back to its thread
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
  std::unique_ptr<RemoteCall> remote_;  ///< null: this server answers
  ReceivedMessage received_;
  Pass pass_;
  int64_t wait_start_ns_ = 0;  ///< 0: requests are not traced
  int64_t wait_end_ns_ = 0;
};

}  // namespace atl::frontends::grpc_frontend
