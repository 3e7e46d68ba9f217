/// One ModelStreamInfer call over the gRPC library.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "atoll/core/host_port.h"
#include "frontends/common/grpc/v2_infer_stream.h"
#include "frontends/grpc/calls/call_access.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/calls/infer_queue.h"
#include "frontends/grpc/calls/stream_request.h"

namespace atl::frontends::grpc_frontend {

class InferStream final : public V2InferStream<StreamRequest, grpc::ByteBuffer> {
 public:
  /// Waits for the queue's next stream. It owns itself until it begins, then its queue's list does.
  static void arm(InferQueue& queue);

  explicit InferStream(InferQueue& queue);
  ~InferStream() override;

  InferQueue& queue() noexcept { return queue_; }
  const grpc::ServerContext& context() const noexcept { return context_; }
  const CallMetadata* metadata() const noexcept override { return &head_; }

 private:
  void on_start(bool ok);
  /// It is known whether the call may be made.
  void on_settled(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_done(bool ok);
  /// Looks whether the caller still may have the stream. \param ok  false: it is over
  void on_look(bool ok);
  void look_later();

  // --- V2InferStream ---
  void settle(Lock lock) noexcept override;

  InferQueue& queue_;
  Step<InferStream> start_{this, &InferStream::on_start};
  Step<InferStream> settled_{this, &InferStream::on_settled};
  Step<InferStream> read_{this, &InferStream::on_read};
  Step<InferStream> written_{this, &InferStream::on_written};
  Step<InferStream> finished_{this, &InferStream::on_finished};
  Step<InferStream> done_{this, &InferStream::on_done};
  Step<InferStream> look_{this, &InferStream::on_look};
  std::optional<grpc::Alarm> alarm_;  ///< for that
  grpc::ServerContext context_;
  const MetadataHead head_{context_};
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  std::shared_ptr<V2InferStream> self_;  ///< until the call begins, and while it waits for its answer
  CallAccess access_;

  // Under the lock.
  grpc::ByteBuffer received_;
  bool is_finished_ = false;
  bool is_done_ = false;
  bool is_watched_ = false;  ///< on_look() is called once more
};

}  // namespace atl::frontends::grpc_frontend
