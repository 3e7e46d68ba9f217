/// The part of a ModelStreamInfer call that another server answers, over the gRPC library.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <deque>
#include <memory>

#include "atoll/request/cancellation.h"
#include "frontends/common/grpc/v2_remote_stream.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

/// [queue's thread], but for what cancels it
class RemoteStream final : public V2RemoteStream, private CancelListener {
 public:
  /// \param cancellation  ends the stream; not used when on_remote_end() is called
  RemoteStream(RemoteStreamOwner<grpc::ByteBuffer>& owner, std::shared_ptr<grpc::GenericStub> stub,
               const grpc::ServerContext& call, Cancellation& cancellation,
               grpc::ServerCompletionQueue& queue);
  ~RemoteStream() override = default;

  void write(const grpc::ByteBuffer& message);
  void end_writing() noexcept override;
  void resume_reading() noexcept override;

 private:
  void on_cancel(void* context) noexcept override;
  void on_started(bool ok);
  void on_written(bool ok);
  void on_writing_ended(bool ok);
  void on_read(bool ok);
  void on_finished(bool ok);
  void on_woken(bool ok);

  void write_next();
  void read();
  void settle();

  RemoteStreamOwner<grpc::ByteBuffer>& owner_;
  Cancellation& cancellation_;
  grpc::ServerCompletionQueue& queue_;
  const std::shared_ptr<grpc::GenericStub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  Step<RemoteStream> started_{this, &RemoteStream::on_started};
  Step<RemoteStream> written_{this, &RemoteStream::on_written};
  Step<RemoteStream> writing_ended_{this, &RemoteStream::on_writing_ended};
  Step<RemoteStream> read_{this, &RemoteStream::on_read};
  Step<RemoteStream> finished_{this, &RemoteStream::on_finished};
  Step<RemoteStream> woken_{this, &RemoteStream::on_woken};
  WakeUp wake_up_;              ///< of on_cancel()
  bool was_cancelled_ = false;  ///< written while the cancellation is listened to
  bool was_woken_ = false;

  std::deque<grpc::ByteBuffer> unwritten_;  ///< the first one is being written once the call has started
  grpc::ByteBuffer answer_;
  grpc::Status status_;
  uint32_t open_steps_ = 0;  ///< that have begun and not ended; without the wake-up
  bool has_started_ = false;
  bool is_writing_ = false;
  bool can_write_ = true;
  bool ends_writing_ = false;
  bool has_backlog_ = false;
  bool is_stalled_ = false;  ///< answer_ waits for the client to read
  bool is_finished_ = false;
};

}  // namespace atl::frontends::grpc_frontend
