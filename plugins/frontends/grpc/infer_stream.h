/// One ModelStreamInfer call: requests come in, answers go out, in the order the protocol demands, which is in
/// StreamRules. It is ended before its time by the client (cancel, deadline, connection), by a failure if the
/// client asked for that, or by the server's stop.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "atoll/host_port.h"
#include "frontends/grpc/call_access.h"
#include "frontends/grpc/event.h"
#include "frontends/grpc/infer_queue.h"
#include "frontends/grpc/stream_request.h"

namespace atl::frontends::grpc_frontend {

class InferStream final : public std::enable_shared_from_this<InferStream> {
 public:
  /// Waits for the queue's next stream. It owns itself until it begins, then its queue's list does.
  static void arm(InferQueue& queue);

  explicit InferStream(InferQueue& queue);
  ~InferStream();

  /// [any] Cancels the requests, writes what is ready, ends with the status.
  void shut_down(Code code, std::string text) noexcept;

  // --- for its requests; [any] ---
  using Rules = StreamRules<StreamRequest, grpc::ByteBuffer>;
  using Push = Rules::Push;
  /// \param answer  taken; for the others see Rules::push()
  Push write(StreamRequest& request, grpc::ByteBuffer* answer, bool last, bool bounded) noexcept;
  /// The request has no more answers than were written.
  void answered(StreamRequest& request) noexcept;
  /// The request's turn among the answers that keep their order is now. [queue's thread]
  void keep_order(StreamRequest& request) noexcept;
  /// The request that is looked at waits for its model: those behind it wait until resume(). [queue's thread]
  void hold() noexcept;
  void resume() noexcept;
  /// The request that passes others on to this server, maybe the given one from now on. [queue's thread]
  StreamRequest& remote_to(StreamRequest& request, const HostPort& server) noexcept;
  void end_remote(const std::string& address) noexcept;
  /// The request's context is free again. The stream may be gone when this returns.
  void gone(uint64_t received_bytes) noexcept;

  InferQueue& queue() noexcept { return queue_; }
  const grpc::ServerContext& context() const noexcept { return context_; }
  /// Who calls; empty: not known.
  std::string_view caller() const noexcept { return caller_; }
  int64_t deadline_ns() const noexcept { return deadline_ns_; }
  /// The client wants the first failure of a model to end the stream with its status.
  bool ends_on_failure() const noexcept { return ends_on_failure_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  void on_start(bool ok);
  /// It is known whether the call may be made.
  void on_settled(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_done(bool ok);

  /// Ends the stream before its time. \param drop  also drop what is ready to be written
  void end(Lock lock, Code code, std::string text, bool drop) noexcept;
  /// Other servers hear that nothing more comes, if that is so.
  void end_remote_writing(Lock lock) noexcept;
  /// Starts what is to be done now and lets go of the lock; if the stream is over, it is gone afterwards.
  void settle(Lock lock) noexcept;
  InferQueue& queue_;
  Step<InferStream> start_{this, &InferStream::on_start};
  Step<InferStream> settled_{this, &InferStream::on_settled};
  Step<InferStream> read_{this, &InferStream::on_read};
  Step<InferStream> written_{this, &InferStream::on_written};
  Step<InferStream> finished_{this, &InferStream::on_finished};
  Step<InferStream> done_{this, &InferStream::on_done};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  std::shared_ptr<InferStream> self_;  ///< until the call begins, and while it waits for its answer
  CallAccess access_;
  std::string_view caller_;
  std::map<std::string, StreamRequest*, std::less<>> remotes_;  ///< that pass on, by address of the server
  int64_t deadline_ns_ = 0;
  bool ends_on_failure_ = false;

  std::mutex mutex_;  ///< for all below and StreamRequest::place
  Rules rules_;
  grpc::ByteBuffer received_;
  int64_t read_start_ns_ = 0;  ///< 0: requests are not traced
  bool is_finished_ = false;
  bool is_done_ = false;
  grpc::Status status_;
};

}  // namespace atl::frontends::grpc_frontend
