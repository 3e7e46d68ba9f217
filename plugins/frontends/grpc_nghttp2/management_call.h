/// One call of a method with one message and one answer, but for inference.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "atoll/core/gate.h"
#include "atoll/core/open_parts.h"
#include "frontends/common/codec/error_map.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/common/grpc/remote_target.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/grpc_nghttp2/call_access.h"
#include "frontends/grpc_nghttp2/forwarded_message.h"
#include "frontends/grpc_nghttp2/received_bytes.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"

namespace atl::frontends::grpc_nghttp2 {

/// Owns itself: it ends when it is answered and its stream needs it no more.
template <class Request, class Response>
class ManagementCall final : public Call,
                             private ClientCall,
                             private Timer,
                             private Posted,
                             private OutgoingMessage {
 public:
  using Listed = ListedMethod<Request, Response>;

  static void begin(const Listed& method, CallThread& thread, CallStream& stream, Message message) {
    (new ManagementCall(method, thread))->run(stream, std::move(message));
  }

  // --- Call ---
  void on_gone() noexcept override {
    stream_ = nullptr;
    end_remote();
    done(kStreamPart);
  }

 private:
  enum Part : uint32_t { kStreamPart = 1, kAnswerPart = 2 };

  ManagementCall(const Listed& method, CallThread& thread)
      : method_(method), thread_(thread), parts_(kStreamPart | kAnswerPart) {
    if (Listed::kBringsFiles) charge_.set_source(*thread.frontend.server.request_memory);
    answer_charge_.set_source(*thread.frontend.server.request_memory);
  }
  virtual ~ManagementCall() = default;

  void run(CallStream& stream, Message message) {
    stream.attach(*this);
    stream_ = &stream;
    ticket_ = stream.take_ticket();
    message_ = std::move(message);
    if (access_.ask(thread_, {{}, method_.path}, method_.category, stream, *this, method_.is_probe()))
      settle();
  }
  void on_posted() noexcept override {
    if (answered_) {
      send_answer();
    } else {
      settle();
    }
  }

  /// It is known whether the call may be made.
  void settle() noexcept {
    if (Status status = prepare(); !status.ok()) return finish(std::move(status));
    if (CallReport* const report = access_.report(); report != nullptr) report_subject(request_, *report);
    const Identity* const caller = identity_of(access_.identity());
    const bool may_pass_on =
        method_.model != nullptr && may_use(caller, method_.category, method_.model(request_));
    if (may_pass_on && has_remote_models(thread_.frontend.server) && pass_on()) return;
    method_.handle(thread_.frontend.server, caller, request_, &response_,
                   [this](Status status) { finish(std::move(status)); });
  }
  Status prepare() noexcept {
    GrpcCallContext& frontend = thread_.frontend;
    std::string_view caller;
    ATOLL_RETURN_IF_ERROR(access_.take(&caller));
    if (method_.holds_pass) {
      pass_ = frontend.calls.enter();
      if (!pass_) return unavailable(messages::kGrpcShuttingDown);
    }
    const uint64_t max_bytes = method_.max_bytes(static_cast<uint64_t>(frontend.settings.max_message_bytes));
    ATOLL_RETURN_IF_ERROR(charge_.add(message_.bytes.size()));
    ATOLL_RETURN_IF_ERROR(open_message(&message_, max_bytes, nullptr, &charge_));
    if (message_.bytes.size() > max_bytes) {
      return make_status(Code::kResourceExhausted, "Received message larger than max (",
                         message_.bytes.size(), " vs. ", max_bytes, ")");
    }
    ATOLL_RETURN_IF_ERROR(charge_.add(message_.bytes.size()));  // the same again as objects
    if (!request_.ParseFromArray(message_.bytes.data(), static_cast<int>(message_.bytes.size()))) {
      return internal_error("the request is not a valid ", Request::descriptor()->full_name(), " message");
    }
    return {};
  }

  // --- another server answers ---
  /// \returns false: this server does
  bool pass_on() noexcept {
    if (stream_ == nullptr) return false;
    GrpcCallContext& frontend = thread_.frontend;
    Result<std::optional<HostPort>> found = remote_of_question(
        frontend.server, identity_of(access_.identity()), method_.category, method_.model(request_),
        StreamMetadata(*stream_).first(RemoteModels::kLeaseHeader));
    if (found.ok() && !found.value()) return false;
    if (found.ok() && !pass_) pass_ = frontend.calls.enter();
    if (found.ok() && !pass_) return false;
    Status begun = found.ok() ? begin_remote(*found.value()) : std::move(found).status();
    if (!begun.ok()) finish(std::move(begun));
    return true;
  }
  Status begin_remote(const HostPort& server) noexcept {
    using std::chrono::nanoseconds;
    const int64_t last_ns =
        thread_.loop.now_ns() + static_cast<int64_t>(nanoseconds(kLongestRemoteQuestion).count());
    const int64_t client_ns = stream_->deadline_ns();
    const int64_t deadline_ns = client_ns == 0 ? last_ns : std::min(last_ns, client_ns);
    std::unique_ptr<ForwardedMessage> message = ForwardedMessage::make(std::move(message_));
    if (message == nullptr) return ForwardedMessage::no_memory();
    auto begun = thread_.clients.begin(server, {method_.path, stream_->metadata(), deadline_ns}, *this);
    if (!begun.ok()) return std::move(begun).status();
    remote_ = std::move(begun).value();
    thread_.loop.set(*this, last_ns);
    remote_->send(*message.release());
    remote_->end_sending();
    remote_->read_next();
    return {};
  }
  void on_client_message(Message message) noexcept override {
    if (remote_answer_) return;  // a call of one message has one answer
    remote_answer_ = std::move(message);
    remote_->read_next();
  }
  void on_client_end(ClientEnd end) noexcept override {
    Timer::unset();
    remote_.reset();
    for (const auto& [name, value] : end.trailers) stream_->writer().add_trailer(name, value);
    status_ = Status(static_cast<Code>(end.code), std::move(end.text));
    if (status_.ok() && !remote_answer_) status_ = internal_error("the other server has sent no answer");
    if (status_.ok()) status_ = forward_answer(&*remote_answer_, this);
    send_answer();
  }
  void on_time() noexcept override {
    std::exchange(remote_, nullptr)->cancel();
    finish(make_status(Code::kDeadlineExceeded, "the other server does not answer"));
  }
  void end_remote() noexcept {
    if (remote_ == nullptr) return;
    Timer::unset();
    std::exchange(remote_, nullptr)->cancel();
    done(kAnswerPart);
  }

  /// [any]
  void finish(Status status) noexcept {
    if (status.ok()) status = write();
    status_ = std::move(status);
    answered_ = true;
    if (thread_.loop.is_current()) {
      send_answer();
    } else {
      thread_.loop.post(*this);
    }
  }
  Status write() noexcept {
    const size_t bytes = response_.ByteSizeLong();
    if (bytes > std::numeric_limits<int32_t>::max()) {
      return internal_error("the answer is too large to be sent");
    }
    if (bytes > kUncountedAnswerBytes) ATOLL_RETURN_IF_ERROR(answer_charge_.add(bytes));
    uint8_t* const to = OutgoingMessage::begin(bytes);
    if (to == nullptr) return make_status(Code::kResourceExhausted, "no memory for the answer");
    response_.SerializeWithCachedSizesToArray(to);
    add({to, bytes});
    OutgoingMessage::end();
    response_ = Response();  // the text may wait for long, and what it was made of would too
    return {};
  }

  void send_answer() noexcept {
    CallStream* const stream = std::exchange(stream_, nullptr);
    if (stream != nullptr) access_.set_status(grpc_code(status_.code()));
    if (stream != nullptr && status_.ok()) {
      stream->answer(*this);
    } else if (stream != nullptr) {
      if (!charge_.refused().ok() || !answer_charge_.refused().ok()) add_retry_after(*stream);
      stream->finish(grpc_code(status_.code()), shortened(client_text(status_)));
      done(kStreamPart);
    }
    done(kAnswerPart);
  }
  static void add_retry_after(CallStream& stream) {
    for (const auto& [name, value] : retry_metadata(RequestCharge::kRetryAfterMs))
      stream.writer().add_trailer(name, value);
  }
  void on_sent() noexcept override { done(kStreamPart); }

  void done(Part part) noexcept {
    if (!parts_.done(part)) return;
    // The pass goes last: with it the instance may be stopped, and this thread with it.
    Pass pass = std::move(pass_);
    access_.forget();
    if (message_.buffer.capacity() != 0) thread_.buffers.give(std::move(message_.buffer));
    delete this;
  }

  const Listed& method_;
  CallThread& thread_;
  OpenParts parts_;
  CallStream* stream_ = nullptr;  ///< null: the client has gone, or has its answer
  CallAccess access_;
  CallTicket ticket_;
  Message message_;
  Request request_;
  Response response_;
  Pass pass_;
  RequestCharge charge_;         ///< for the request; ends before the pass
  RequestCharge answer_charge_;  ///< for the answer while it waits
  Status status_;
  std::shared_ptr<ClientStream> remote_;  ///< null: this server answers
  std::optional<Message> remote_answer_;
  bool answered_ = false;
};

}  // namespace atl::frontends::grpc_nghttp2
