/// One request of a ModelStreamInfer call.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "atoll/pools/remote_models.h"
#include "frontends/common/grpc/v2_stream_request.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/calls/infer_queue.h"
#include "frontends/grpc/calls/received_message.h"
#include "frontends/grpc/calls/remote_stream.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

class InferStream;

class StreamRequest final : public V2StreamRequest<StreamRequest, grpc::ByteBuffer, ReceivedMessage> {
 public:
  /// A context of the pool or a new one; its message's bytes are taken.
  static StreamRequest& start(InferStream& stream, grpc::ByteBuffer* received, int64_t read_start_ns,
                              int64_t read_end_ns);

  explicit StreamRequest(InferQueue& queue);
  ~StreamRequest() override = default;

 private:
  void on_woken(bool) { after_wait(); }
  InferStream& stream() noexcept;
  // --- V2StreamRequest ---
  std::unique_ptr<V2RemoteStream> make_remote(const HostPort& server,
                                              RemoteStreamOwner<grpc::ByteBuffer>& owner) noexcept override;
  void forward(V2RemoteStream& to) noexcept override;
  Status write_message(V2StreamMessage& from, grpc::ByteBuffer* message) noexcept override;
  void to_own_thread() noexcept override { wake_up_.send(*queue_.queue, woken_); }
  void recycle() noexcept override;

  InferQueue& queue_;
  Step<StreamRequest> woken_{this, &StreamRequest::on_woken};
  WakeUp wake_up_;  ///< brings a request that waited back to its thread
};

}  // namespace atl::frontends::grpc_frontend
