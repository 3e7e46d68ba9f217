/// ModelStreamInfer, whatever transport brings it: requests come in, answers go out, in the order the protocol
/// demands, which is in StreamRules. It is ended before its time by the client (cancel, deadline, connection), by a
/// failure if the client asked for that, or by the server's stop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/request/request_marks.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/call_metadata.h"
#include "frontends/common/stream/stream_rules.h"

namespace atl::frontends {

/// \tparam Request  a V2StreamRequest
/// \tparam Message  of StreamRules, with its size as Length()
template <class Request, class Message>
class V2InferStream : public std::enable_shared_from_this<V2InferStream<Request, Message>> {
 public:
  using Rules = StreamRules<Request, Message>;
  using Push = typename Rules::Push;

  explicit V2InferStream(GrpcCallContext& frontend)
      : frontend_(frontend),
        rules_({.requests = frontend.settings.max_requests_per_stream,
                .backlog_bytes = frontend.settings.max_stream_backlog_bytes,
                .answers = frontend.settings.max_response_pool_size}) {}
  V2InferStream(const V2InferStream&) = delete;
  V2InferStream& operator=(const V2InferStream&) = delete;
  virtual ~V2InferStream() = default;

  /// [any] Cancels the requests, writes what is ready, ends with the status.
  void shut_down(Code code, std::string text) noexcept { end(Lock(mutex_), code, std::move(text), false); }

  // --- for its requests; [own thread] ---
  /// The request that passes others on to this server, maybe the given one from now on.
  Request& remote_to(Request& request, const HostPort& server) noexcept {
    Request*& passes = remotes_[server.text()];
    if (passes == nullptr) {
      passes = &request;
      request.begin_remote(server);
    }
    return *passes;
  }
  void end_remote(const std::string& address) noexcept { remotes_.erase(address); }

  // --- for its requests; [any] ---
  /// \param answer  taken; for the others see Rules::push()
  Push write(Request& request, Message* answer, bool last, bool bounded) noexcept {
    // What a waiting answer takes beside its message, roughly: without it, many empty ones would count nothing.
    constexpr uint64_t kAnswerOverheadBytes = 256;
    const uint64_t bytes = answer->Length() + kAnswerOverheadBytes;
    Lock lock(mutex_);
    const Push pushed = rules_.push(request, answer, bytes, last, bounded);
    settle(std::move(lock));
    return pushed;
  }
  /// The request has no more answers than were written.
  void answered(Request& request) noexcept {
    Lock lock(mutex_);
    const bool is_written = rules_.answered(request);
    lock.unlock();
    if (is_written) request.written();
  }
  /// The request's turn among the answers that keep their order is now. [own thread]
  void keep_order(Request& request) noexcept {
    Lock lock(mutex_);
    rules_.keep_order(request);
  }
  /// The request that is looked at waits for its model: those behind it wait until resume(). [own thread]
  void hold() noexcept {
    Lock lock(mutex_);
    rules_.hold();
  }
  void resume() noexcept {
    Lock lock(mutex_);
    const auto self = this->shared_from_this();
    Request* next = rules_.resume();
    settle(std::move(lock));
    if (next != nullptr) next->run();
    end_remote_writing(Lock(mutex_));
  }
  /// The request's context is free again. The stream may be gone when this returns.
  void gone(uint64_t received_bytes) noexcept {
    Lock lock(mutex_);
    rules_.remove(received_bytes);
    settle(std::move(lock));
  }

  /// What came with the call. Null: the client has gone. [own thread]
  virtual const CallMetadata* metadata() const noexcept = 0;
  /// Identifies the caller anew, if what it may do has changed or there are identities now. [own thread]
  /// Errors: the stream is to be ended so.
  Status check_caller() noexcept {
    const AccessPoint& access = *frontend_.server.access;
    if (identity_ == nullptr ? !access.has_sources() : identity_->holds()) return {};
    const CallMetadata* const head = metadata();
    if (head == nullptr) {
      identity_.reset();
      return {};
    }
    constexpr ApiCategory kCategory = ApiCategory::kInference;
    return access.renew({kCategory, api_category_name(kCategory), CallProtocol::kGrpc, *head}, &identity_);
  }
  /// The same between messages: ends the stream of a caller that may not have it any more. [own thread]
  void look_at_caller() noexcept {
    if (!has_begun_) return;
    if (Status known = check_caller(); !known.ok()) shut_down(known.code(), std::string(known.message()));
  }
  /// Null: there are no identities. [own thread]
  const Identity* identity() const noexcept { return identity_of(identity_); }
  /// Who calls; empty: not known.
  std::string_view caller() const noexcept { return caller_; }
  int64_t deadline_ns() const noexcept { return deadline_ns_; }
  /// The client wants the first failure of a model to end the stream with its status.
  bool ends_on_failure() const noexcept { return ends_on_failure_; }
  /// Tells its requests from those of other streams.
  uint32_t number() const noexcept { return number_; }

 protected:
  using Lock = std::unique_lock<std::mutex>;

  /// Starts what is to be done now and lets go of the lock; if the stream is over, it is gone afterwards.
  virtual void settle(Lock lock) noexcept = 0;
  /// Other servers hear that nothing more comes, if that is so. [own thread]
  void end_remote_writing(Lock lock) noexcept {
    if (!rules_.has_run_all()) return;
    lock.unlock();
    for (const auto& [address, passes] : remotes_) passes->remote().end_writing();
  }
  /// Another server whose answers the client has not read may send more, now that one is written. With the lock.
  static Request* remote_of(Request* written) noexcept {
    return written != nullptr && written->is_remote() ? written : nullptr;
  }

  /// It is known whether the call may be made. \param refusal  OK: it may
  void begin(Status refusal, CallerIdentityPtr identity, int64_t deadline_ns) noexcept {
    if (refusal.ok() && frontend_.calls.closed()) refusal = unavailable(messages::kGrpcShuttingDown);
    identity_ = std::move(identity);
    has_begun_ = true;
    Lock lock(mutex_);
    if (!refusal.ok()) {
      end(std::move(lock), refusal.code(), std::string(refusal.message()), true);
      return;
    }
    deadline_ns_ = deadline_ns;
    if (const CallMetadata* head = metadata(); head != nullptr) {
      ends_on_failure_ = head->first("triton_grpc_error") == "true";
    }
    settle(std::move(lock));
  }
  /// Ends the stream before its time. \param drop  also drop what is ready to be written
  void end(Lock lock, Code code, std::string text, bool drop) noexcept {
    if (drop) rules_.drop_answers();
    if (rules_.has_ended()) {
      settle(std::move(lock));
      return;
    }
    status_ = Status(code, std::move(text));
    const std::vector<Request*> cancelled = rules_.end();
    settle(std::move(lock));
    // Nobody else tells them that they are written, so they, and with them the stream, are there till then.
    for (Request* request : cancelled) {
      request->cancel();
      request->written();
    }
  }

  GrpcCallContext& frontend_;
  const uint32_t number_ = next_stream_number();
  std::string_view caller_;
  CallerIdentityPtr identity_;
  bool has_begun_ = false;  ///< it is known whether the call may be made
  int64_t deadline_ns_ = 0;
  bool ends_on_failure_ = false;
  std::map<std::string, Request*, std::less<>> remotes_;  ///< that pass on, by address of the server

  std::mutex mutex_;  ///< for all below and the requests' places
  Rules rules_;
  Status status_;
  int64_t read_start_ns_ = 0;  ///< 0: requests are not traced
};

}  // namespace atl::frontends
