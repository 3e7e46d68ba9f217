/// One call that another plugin answers, or nobody, whatever transport brings it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/gate.h"
#include "atoll/frontend/grpc_calls.h"
#include "frontends/common/call/request_charge.h"
#include "frontends/common/grpc/call_context.h"

namespace atl::frontends {

/// The way to the provider and what it may answer; the transport brings the message and takes the answers.
class ContributedExchange : public GrpcExchange {
 public:
  ContributedExchange(const ContributedExchange&) = delete;
  ContributedExchange& operator=(const ContributedExchange&) = delete;

  // --- GrpcExchange ---
  std::string_view caller() const noexcept final { return caller_; }
  const Identity* identity() const noexcept final { return identity_of(identity_); }
  Cancellation& cancellation() noexcept final { return cancellation_; }
  void answer(std::string message) noexcept final;
  Status write(std::string message) noexcept final;
  uint64_t waiting_bytes() const noexcept final { return waiting_bytes_.load(std::memory_order_relaxed); }
  void end(Status status) noexcept final { end_with(std::move(status)); }

 protected:
  using Lock = std::unique_lock<std::mutex>;
  /// What a waiting message takes beside its bytes, roughly: without it, many empty ones would count nothing.
  static constexpr uint64_t kMessageOverheadBytes = 256;

  explicit ContributedExchange(GrpcCallContext& frontend) : frontend_(frontend) {
    charge_.set_source(*frontend.server.request_memory);
  }
  ~ContributedExchange() = default;

  // --- the way to the provider; [own thread] ---
  /// Looks for the method; guarded() says then what is to be asked for.
  /// Errors: UNIMPLEMENTED nobody has it.
  Status find() noexcept;
  /// What its caller has to be allowed.
  struct Guarded {
    ApiCategory category = ApiCategory::kOther;
    std::string name;  ///< of the category
  };
  const Guarded& guarded() const noexcept { return guarded_; }
  /// The message has come, or none will. \param bytes  of it, which nobody has counted
  void on_message(uint64_t bytes) noexcept;
  void on_no_message() noexcept;
  /// The message was opened elsewhere.
  void on_opened() noexcept { hand_over(std::move(opened_)); }
  /// Ends a call that the provider does not have.
  void refuse(Status status) noexcept;

  // --- of the transport ---
  /// "/package.Service/Method"
  virtual std::string_view path() const noexcept = 0;
  /// Undoes the message's compression, in one piece, on whatever thread. As inflate_message().
  virtual Status open_message(uint64_t max_bytes, bool* is_larger) noexcept = 0;
  /// Has on_opened() called on the call's thread. [any]
  virtual void to_own_thread() noexcept = 0;
  /// The provider is about to have the call. [own thread]
  virtual void about_to_answer() noexcept {}
  /// Before the end. [any]
  virtual void set_retry_after(uint32_t ms) noexcept = 0;
  /// Keeps a message that goes to the client; settle() follows. [any], one thread at a time, without the lock
  /// \param charge  for it, while it waits
  virtual void keep(std::string message, RequestCharge charge) noexcept = 0;
  /// Starts what is to be done and lets go of the lock; the call may be gone afterwards. [any]
  virtual void settle(Lock lock) noexcept = 0;
  /// The client is too slow: it is to learn that nothing more comes. [any]
  virtual void cancel_call() noexcept = 0;

  /// So many bytes that were kept wait no more.
  void wait_no_more(uint64_t bytes) noexcept { waiting_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  GrpcCallContext& frontend_;
  std::string_view caller_;
  Pass pass_;
  CallerIdentityPtr identity_;  ///< ends before the pass
  RequestCharge charge_;        ///< ends before the pass; once handed over, of the thread that answers
  Cancellation cancellation_;

  std::mutex mutex_;          ///< guards what follows
  Status status_;             ///< once it has ended
  bool is_handling_ = false;  ///< the provider's handle() runs
  bool is_ended_ = false;

 private:
  Result<bool> open_here() noexcept;
  /// Before a message of a stream: whether its caller may still have it. Errors: the caller may not.
  Status check_caller() noexcept;
  Status count_waiting(uint64_t bytes, RequestCharge* charge) noexcept;
  void hand_over(Status opened) noexcept;
  void end_with(Status status) noexcept;

  /// The caller's identity of now, once the first one did not hold any more. Of the thread that writes; ends before the pass.
  CallerIdentityPtr renewed_;
  Guarded guarded_;  ///< by which it was asked whether the call may be made
  Status opened_;
  std::atomic<uint64_t> waiting_bytes_{0};
  Followed<GrpcCalls>::Hold
      provider_;            ///< until the exchange is ended and handle() has returned; under the lock
  bool is_ending_ = false;  ///< the provider has said so; under the lock
};

}  // namespace atl::frontends
