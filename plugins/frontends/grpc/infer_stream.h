/// One ModelStreamInfer call: requests come in, answers go out, in the order the protocol demands.
///
/// Answers of models that are not decoupled leave in the order of their requests, whatever finishes first;
/// answers of decoupled models leave as they come. One message is written at a time. A stream that has too
/// much in hand (requests in flight; bytes received or waiting to be written) reads no further request until
/// that is less, so a client that does not read its answers can not make the server's memory grow.
///
/// A stream is over when the client has sent its last request and every request is answered; or when it is
/// ended before: by the client (cancel, deadline, connection), by a failure if the client asked for that, by
/// the server's stop. Then its requests are cancelled and what they still answer is dropped.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "call_access.h"
#include "event.h"
#include "infer_queue.h"
#include "stream_request.h"

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
  enum class Written {
    kQueued,   ///< or dropped, because the stream has ended
    kTooMuch,  ///< nothing was done: too much waits to be written already
  };
  /// \param answer   taken
  /// \param last     the request's last answer
  /// \param bounded  refuse if too much waits; for models that answer without being asked
  Written write(StreamRequest& request, grpc::ByteBuffer* answer, bool last, bool bounded) noexcept;
  /// The request has no more answers than were written.
  void answered(StreamRequest& request) noexcept;
  /// The request's turn among the answers that keep their order is now. [queue's thread]
  void keep_order(StreamRequest& request) noexcept;
  /// The request that is looked at waits for its model: those behind it wait until go_on(), so that the model
  /// gets them in their order. [queue's thread]
  void hold() noexcept;
  void go_on() noexcept;
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
  struct Answer {
    grpc::ByteBuffer buffer;
    StreamRequest* request = nullptr;  ///< null: nobody waits for it any more
    uint64_t bytes = 0;
  };

  void on_start(bool ok);
  /// It is known whether the call may be made.
  void on_settled(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_done(bool ok);

  /// Ends the stream before its time. \param drop  also drop what is ready to be written
  void end(Lock lock, Code code, std::string text, bool drop) noexcept;
  /// Starts what can be started and lets go of the lock; if the stream is over, it is gone afterwards.
  void settle(Lock lock) noexcept;
  void pump_read() noexcept;
  void pump_write() noexcept;
  void pump_finish() noexcept;
  void queue_answer(StreamRequest& request, grpc::ByteBuffer* answer, uint64_t bytes) noexcept;
  void add(StreamRequest& request) noexcept;
  void unlink(StreamRequest& request) noexcept;

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
  int64_t deadline_ns_ = 0;
  bool ends_on_failure_ = false;

  std::mutex mutex_;  ///< for all below and StreamRequest::place
  grpc::ByteBuffer received_;
  int64_t read_start_ns_ = 0;  ///< 0: requests are not traced
  std::deque<Answer> answers_;
  Answer writing_;
  StreamRequest* answering_ = nullptr;      ///< list of requests with answers to come
  StreamRequest* ordered_front_ = nullptr;  ///< list of those that keep their order
  StreamRequest* ordered_back_ = nullptr;
  uint64_t received_bytes_ = 0;   ///< of requests in flight
  uint64_t unwritten_bytes_ = 0;  ///< of answers, also of those that wait for their turn
  uint32_t in_flight_ = 0;        ///< contexts in use
  bool holds_ = false;
  StreamRequest* behind_ = nullptr;  ///< came while the stream holds; no further one is read
  int64_t behind_times_ns_[2] = {};  ///< when its reading started and ended
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool read_all_ = false;
  bool ended_ = false;  ///< before its time
  bool is_finishing_ = false;
  bool is_finished_ = false;
  bool is_done_ = false;
  grpc::Status status_;
};

}  // namespace atl::frontends::grpc_frontend
