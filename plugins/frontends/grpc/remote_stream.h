/// The part of a ModelStreamInfer call that another server answers: a call of its own to that server, whose messages go
/// to and fro as they are.
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

#include "atoll/cancellation.h"
#include "frontends/grpc/event.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

/// Whose stream it is. [queue's thread]
class RemoteStreamOwner {
 public:
  /// \param answer  taken, if it is \returns false: the client has not read enough of those before; resume_reading()
  /// says when to try again
  virtual bool on_remote_answer(grpc::ByteBuffer* answer) noexcept = 0;
  /// No further requests are wanted until on_remote_room().
  virtual void on_remote_backlog() noexcept = 0;
  virtual void on_remote_room() noexcept = 0;
  /// No answers come any more, and the stream may be destroyed.
  virtual void on_remote_end(const grpc::Status& status) noexcept = 0;

 protected:
  ~RemoteStreamOwner() = default;
};

/// [queue's thread], but for what cancels it
class RemoteStream final : private CancelListener {
 public:
  /// \param cancellation  ends the stream; not used when on_remote_end() is called
  RemoteStream(RemoteStreamOwner& owner, std::shared_ptr<grpc::GenericStub> stub,
               const grpc::ServerContext& call, Cancellation& cancellation,
               grpc::ServerCompletionQueue& queue);
  RemoteStream(const RemoteStream&) = delete;
  RemoteStream& operator=(const RemoteStream&) = delete;
  virtual ~RemoteStream() = default;

  void write(const grpc::ByteBuffer& message);
  /// There is nothing more to write. Again, it does nothing.
  void end_writing();
  /// The client has read something.
  void resume_reading();

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

  RemoteStreamOwner& owner_;
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
