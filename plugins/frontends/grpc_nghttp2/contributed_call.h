/// A call of another plugin's over nghttp2.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/common/grpc/contributed_exchange.h"
#include "frontends/grpc_nghttp2/call_access.h"
#include "frontends/grpc_nghttp2/compressible_message.h"
#include "frontends/grpc_nghttp2/step.h"
#include "frontends/grpc_nghttp2/stream_metadata.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

/// Owns itself. Everything about its stream happens on the loop's thread, on which it is freed: when the exchange
/// has ended and the transport has let go of its messages.
class ContributedCall final : public ContributedExchange, public Call {
 public:
  /// \param path  outlives the call
  static void begin(CallThread& thread, std::string_view path, CallStream& stream) noexcept;

  // --- GrpcExchange ---
  const CallHead& head() const noexcept override { return head_; }
  std::span<const std::byte> message() const noexcept override { return std::as_bytes(message_.bytes); }

  // --- Call ---
  void on_message(Message message) noexcept override;
  void on_half_close() noexcept override { on_no_message(); }
  void on_gone() noexcept override;

 private:
  /// One of its messages. Freed when it is sent or dropped.
  class Answer final : public TextMessage {
   public:
    /// Throws std::bad_alloc.
    Answer(ContributedCall& call, std::string content, uint64_t counted_bytes, RequestCharge charge);
    virtual ~Answer() = default;
    uint64_t counted_bytes() const noexcept { return counted_bytes_; }

   private:
    void on_sent() noexcept override;

    ContributedCall& call_;
    const uint64_t counted_bytes_;
    const RequestCharge charge_;
  };

  ContributedCall(CallThread& thread, std::string_view path, CallStream& stream);
  ~ContributedCall() = default;

  /// Errors: RESOURCE_EXHAUSTED.
  Status count_head() noexcept;
  /// It is known whether the call may be made.
  void on_settled();
  void on_settle_posted();
  void on_opened_posted() { on_opened(); }
  void on_sent(uint64_t counted_bytes) noexcept;
  void settle_here(Lock lock) noexcept;
  /// Gives the messages and the end to the stream. \param ends  whether that has come
  void deliver(std::vector<std::unique_ptr<Answer>> messages, bool ends) noexcept;
  void free_if_over() noexcept;

  // --- ContributedExchange ---
  std::string_view path() const noexcept override { return path_; }
  Status open_message(uint64_t max_bytes, bool* is_larger) noexcept override;
  void to_own_thread() noexcept override { thread_.loop.post(opened_); }
  void set_retry_after(uint32_t ms) noexcept override { retry_after_ms_ = ms; }
  void keep(std::string message, RequestCharge charge) noexcept override;
  void settle(Lock lock) noexcept override;
  void cancel_call() noexcept override;

  CallThread& thread_;
  const std::string_view path_;
  Step<ContributedCall> settled_{*this, &ContributedCall::on_settled};
  Step<ContributedCall> opened_{*this, &ContributedCall::on_opened_posted};
  Step<ContributedCall> settle_{*this, &ContributedCall::on_settle_posted};
  const KeptMetadata head_;
  RequestCharge head_charge_;       ///< for that; ends before the pass
  const MessageEncoding encoding_;  ///< of answers
  Message message_;
  uint32_t retry_after_ms_ = 0;  ///< of whoever ends the exchange

  // Of the loop's thread.
  CallStream* stream_;  ///< null: the client has gone, or has its end
  CallTicket ticket_;
  CallAccess access_;
  uint32_t sending_ = 0;         ///< messages that the transport has
  uint32_t inside_ = 0;          ///< functions that need it until they return
  bool is_asking_ = true;        ///< whether the call may be made
  bool is_with_plugin_ = false;  ///< or on the way there: the exchange is ended by others
  bool is_over_ = false;         ///< the exchange has ended, and the stream knows

  // Under the lock.
  std::vector<std::unique_ptr<Answer>> messages_;  ///< not given to the stream yet
  bool is_posted_ = false;
  bool is_cancelling_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
