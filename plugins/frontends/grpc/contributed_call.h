/// One call that another plugin answers, or nobody.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/gate.h"
#include "atoll/grpc_calls.h"
#include "frontends/common/request_charge.h"
#include "frontends/grpc/call_access.h"
#include "frontends/grpc/contributed_methods.h"
#include "frontends/grpc/event.h"
#include "frontends/grpc/grpc_context.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

/// What the calls of methods that are not the frontend's own share. Lives as long as the completion queues.
struct ContributedCalls {
  GrpcContext& frontend;
  grpc::AsyncGenericService service{};
  /// Calls that have begun and whose memory was not freed: the queues stay as long.
  std::atomic<int64_t> open{0};
};

/// It is freed on its queue's thread, on which handle() runs as well: when gRPC has told that the answer was
/// sent, or could not be, and that the call is over.
class ContributedCall final : public GrpcExchange {
 public:
  /// Waits for the queue's next call. It owns itself: it ends with the call or with the server.
  static void arm(ContributedCalls& calls, grpc::ServerCompletionQueue& queue);

  // --- GrpcExchange ---
  const CallHead& head() const noexcept override { return head_; }
  std::string_view caller() const noexcept override { return caller_; }
  std::span<const std::byte> message() const noexcept override;
  Cancellation& cancellation() noexcept override { return cancellation_; }
  void answer(std::string message) noexcept override;
  Status write(std::string message) noexcept override;
  uint64_t waiting_bytes() const noexcept override { return waiting_bytes_.load(std::memory_order_relaxed); }
  void end(Status status) noexcept override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  ContributedCall(ContributedCalls& calls, grpc::ServerCompletionQueue& queue);
  ~ContributedCall() = default;

  // --- the way to the provider; [queue's thread] ---
  void on_start(bool ok);
  /// It is known whether the call may be made.
  void on_settled(bool ok);
  void on_read(bool ok);
  void on_opened(bool) { handle(std::move(opened_)); }
  /// Undoes the compression of a small message. \returns false: it is done elsewhere, and on_opened() goes on
  Result<bool> open_here() noexcept;
  /// Makes one piece of the message, whose compression is undone.
  Status join() noexcept;
  /// Hands the call to its provider. \param opened  the message is readable, or can not be
  void handle(Status opened) noexcept;
  /// Ends a call that the provider does not have.
  void refuse(const Status& status) noexcept;

  // --- the way back ---
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_done(bool ok);
  /// To those that wait. With the lock.
  void add_message(std::string message) noexcept;
  void end_with(grpc::Status status) noexcept;
  /// Starts what is to be done now and lets go of the lock; if the call is over, it is gone afterwards.
  void settle(Lock lock) noexcept;
  /// What waits reaches nobody. With the lock.
  void drop_messages() noexcept;

  ContributedCalls& calls_;
  grpc::ServerCompletionQueue& queue_;
  Step<ContributedCall> start_{this, &ContributedCall::on_start};
  Step<ContributedCall> settled_{this, &ContributedCall::on_settled};
  Step<ContributedCall> read_{this, &ContributedCall::on_read};
  Step<ContributedCall> opened_step_{this, &ContributedCall::on_opened};
  Step<ContributedCall> written_{this, &ContributedCall::on_written};
  Step<ContributedCall> finished_{this, &ContributedCall::on_finished};
  Step<ContributedCall> done_{this, &ContributedCall::on_done};
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  const MetadataHead head_{context_};
  std::string category_;  ///< by which it was asked whether the call may be made
  CallAccess access_;
  WakeUp wake_up_;
  std::string_view caller_;
  grpc::ByteBuffer received_;
  Status opened_;
  grpc::Slice message_;
  Pass pass_;
  RequestCharge charge_;  ///< ends before the pass; from handle() on of the thread that answers
  Cancellation cancellation_;
  std::atomic<uint64_t> waiting_bytes_{0};

  std::mutex mutex_;                       ///< guards what follows
  Followed<GrpcCalls>::Hold provider_;     ///< until the exchange is ended and handle() has returned
  std::deque<grpc::ByteBuffer> messages_;  ///< not given to gRPC yet
  grpc::Status status_;                    ///< once it has ended
  uint64_t writing_bytes_ = 0;             ///< of the message that gRPC has
  bool is_handling_ = false;               ///< handle() runs
  bool is_ending_ = false;                 ///< the provider has said so
  bool is_ended_ = false;
  bool is_writing_ = false;
  bool is_finishing_ = false;
  bool is_finished_ = false;
  bool is_done_ = false;
};

}  // namespace atl::frontends::grpc_frontend
