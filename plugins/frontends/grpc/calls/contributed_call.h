/// A call of another plugin's over the gRPC library.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "frontends/common/grpc/contributed_exchange.h"
#include "frontends/grpc/calls/call_access.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/wake_up.h"

namespace atl::frontends::grpc_frontend {

/// What the calls of methods that are not the frontend's own share. Lives as long as the completion queues.
struct ContributedCalls {
  GrpcCallContext& frontend;
  grpc::AsyncGenericService service{};
  /// Calls that have begun and whose memory was not freed: the queues stay as long.
  std::atomic<int64_t> open{0};
};

/// It is freed on its queue's thread, on which handle() runs as well: when gRPC has told that the answer was
/// sent, or could not be, and that the call is over.
class ContributedCall final : public ContributedExchange {
 public:
  /// Waits for the queue's next call. It owns itself: it ends with the call or with the server.
  static void arm(ContributedCalls& calls, grpc::ServerCompletionQueue& queue);

  // --- GrpcExchange ---
  const CallHead& head() const noexcept override { return head_; }
  std::span<const std::byte> message() const noexcept override;

 private:
  ContributedCall(ContributedCalls& calls, grpc::ServerCompletionQueue& queue);
  ~ContributedCall() = default;

  // --- [queue's thread] ---
  void on_start(bool ok);
  /// It is known whether the call may be made.
  void on_settled(bool ok);
  void on_read(bool ok);
  void on_open(bool) { on_opened(); }
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_done(bool ok);

  /// Makes one piece of the message, whose compression is undone.
  Status join() noexcept;
  /// What waits reaches nobody. With the lock.
  void drop_messages() noexcept;

  // --- ContributedExchange ---
  std::string_view path() const noexcept override { return context_.method(); }
  Status open_message(uint64_t max_bytes, bool* is_larger) noexcept override;
  void to_own_thread() noexcept override { wake_up_.send(queue_, opened_step_); }
  void about_to_answer() noexcept override;
  void set_retry_after(uint32_t ms) noexcept override;
  void keep(std::string message, RequestCharge charge) noexcept override;
  void settle(Lock lock) noexcept override;
  void cancel_call() noexcept override { context_.TryCancel(); }

  ContributedCalls& calls_;
  grpc::ServerCompletionQueue& queue_;
  Step<ContributedCall> start_{this, &ContributedCall::on_start};
  Step<ContributedCall> settled_{this, &ContributedCall::on_settled};
  Step<ContributedCall> read_{this, &ContributedCall::on_read};
  Step<ContributedCall> opened_step_{this, &ContributedCall::on_open};
  Step<ContributedCall> written_{this, &ContributedCall::on_written};
  Step<ContributedCall> finished_{this, &ContributedCall::on_finished};
  Step<ContributedCall> done_{this, &ContributedCall::on_done};
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  const MetadataHead head_{context_};
  CallAccess access_;
  WakeUp wake_up_;
  grpc::ByteBuffer received_;
  grpc::Slice message_;

  // Under the lock.
  struct Waiting {
    grpc::ByteBuffer message;
    RequestCharge charge;
  };
  std::deque<Waiting> messages_;  ///< not given to gRPC yet
  uint64_t writing_bytes_ = 0;    ///< of the message that gRPC has
  RequestCharge writing_charge_;  ///< for it; ends before the pass
  bool is_writing_ = false;
  bool is_finishing_ = false;
  bool is_finished_ = false;
  bool is_done_ = false;
};

}  // namespace atl::frontends::grpc_frontend
