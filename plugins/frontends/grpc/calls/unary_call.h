/// One call of an ordinary (message in, message out) method.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/call_context.h"
#include "frontends/common/grpc/message_limit.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/common/grpc/remote_target.h"
#include "frontends/grpc/calls/call_access.h"
#include "frontends/grpc/calls/call_metadata.h"
#include "frontends/grpc/calls/decompress.h"
#include "frontends/grpc/calls/error_text.h"
#include "frontends/grpc/calls/event.h"
#include "frontends/grpc/calls/remote_call.h"
#include "frontends/grpc/calls/remote_channels.h"

namespace atl::frontends::grpc_frontend {

using RawWriter = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

/// A method: how gRPC is asked for its next call, and who answers it. Lives as long as the server.
template <class Request, class Response>
struct UnaryMethod {
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, RawWriter*, void*)> arm;
  ListedMethod<Request, Response> method;
  GrpcCallContext* frontend = nullptr;
  grpc::ServerCompletionQueue* queue = nullptr;
  uint64_t max_bytes = 0;              ///< of a request, after decompression
  RemoteChannels* channels = nullptr;  ///< the queue's
};

template <class Request, class Response>
class UnaryCall final : public Event {
 public:
  using Method = UnaryMethod<Request, Response>;

  /// Waits for the next call of the method. It owns itself: it ends with the call or with the server.
  static void arm(const Method& method) {
    auto* call = new UnaryCall(method);
    method.arm(&call->context_, &call->received_, &call->writer_, call->tag());
  }

  void on_event(bool ok) noexcept override {
    if (passed_on_ && !std::exchange(answered_, true)) return pass_back();
    if (finishing_ || (!ok && !begun_)) {
      delete this;
      return;
    }
    if (!std::exchange(begun_, true)) {
      arm(method_);
      const AccessPoint& access = *method_.frontend->server.access;
      if (!access_.ask(access, {{}, method_.method.path}, method_.method.category, context_, *method_.queue,
                       *this, method_.method.is_probe()))
        return;
    }
    finishing_ = true;
    if (Status status = prepare(); !status.ok()) {
      finish(std::move(status));
      return;
    }
    if (CallReport* const report = access_.report(); report != nullptr) report_subject(request_, *report);
    const Identity* const caller = identity_of(access_.identity());
    const bool may_pass_on =
        to_pass_on_.Valid() && may_use(caller, method_.method.category, method_.method.model(request_));
    if (may_pass_on && pass_on()) return;
    method_.method.handle(method_.frontend->server, caller, request_, &response_,
                          [this](Status status) { finish(std::move(status)); });
  }

 private:
  explicit UnaryCall(const Method& method) : method_(method), writer_(&context_) {
    if (ListedMethod<Request, Response>::kBringsFiles)
      charge_.set_source(*method.frontend->server.request_memory);
    answer_charge_.set_source(*method.frontend->server.request_memory);
  }
  ~UnaryCall() = default;

  Status prepare() noexcept {
    GrpcCallContext& frontend = *method_.frontend;
    std::string_view caller;
    ATOLL_RETURN_IF_ERROR(access_.take(&caller));
    if (method_.method.holds_pass) {
      pass_ = frontend.calls.enter();
      if (!pass_) return unavailable(messages::kGrpcShuttingDown);
    }
    ATOLL_RETURN_IF_ERROR(charge_.add(received_.Length()));
    ATOLL_RETURN_IF_ERROR(open_message(&received_, method_.max_bytes, nullptr, &charge_));
    if (received_.Length() > method_.max_bytes) {
      return make_status(Code::kResourceExhausted, "Received message larger than max (", received_.Length(),
                         " vs. ", method_.max_bytes, ")");
    }
    ATOLL_RETURN_IF_ERROR(charge_.add(received_.Length()));  // the same again as objects
    // Reading empties it.
    if (method_.method.model != nullptr && has_remote_models(frontend.server)) to_pass_on_ = received_;
    if (!grpc::SerializationTraits<Request>::Deserialize(&received_, &request_).ok()) {
      return internal_error("the request is not a valid ", Request::descriptor()->full_name(), " message");
    }
    return {};
  }

  /// \returns false: this server answers
  bool pass_on() noexcept {
    GrpcCallContext& frontend = *method_.frontend;
    Result<std::optional<HostPort>> found = remote_of_question(
        frontend.server, identity_of(access_.identity()), method_.method.category,
        method_.method.model(request_), metadata_value(context_, RemoteModels::kLeaseHeader));
    if (!found.ok()) {
      finish(found.status().clone());
      return true;
    }
    if (!found.value()) return false;
    if (!pass_) pass_ = frontend.calls.enter();
    if (!pass_) return false;
    passed_on_ =
        std::make_unique<RemoteCall>(method_.channels->stub(*found.value(), frontend.host.clock().now_ns()),
                                     context_, kLongestRemoteQuestion);
    passed_on_->start(method_.method.path, to_pass_on_, *method_.queue, *this);
    return true;
  }

  void pass_back() noexcept {
    passed_on_->pass_back(&context_);
    access_.set_status(passed_on_->status().error_code());
    if (passed_on_->status().ok()) {
      writer_.Finish(passed_on_->answer(), grpc::Status::OK, tag());
    } else {
      writer_.FinishWithError(passed_on_->status(), tag());
    }
  }

  void finish(Status status) noexcept {
    grpc::ByteBuffer answer;
    if (status.ok()) status = write(&answer);
    access_.set_status(grpc_code(status.code()));
    if (status.ok()) {
      writer_.Finish(answer, grpc::Status::OK, tag());
      return;
    }
    if (!charge_.refused().ok() || !answer_charge_.refused().ok()) {
      add_retry_after(context_, RequestCharge::kRetryAfterMs);
    }
    writer_.FinishWithError(to_grpc(status), tag());
  }
  Status write(grpc::ByteBuffer* answer) noexcept {
    const size_t bytes = response_.ByteSizeLong();
    if (bytes > kUncountedAnswerBytes) ATOLL_RETURN_IF_ERROR(answer_charge_.add(bytes));
    bool owned = false;
    if (!grpc::SerializationTraits<Response>::Serialize(response_, answer, &owned).ok()) {
      return internal_error("the answer is too large to be sent");
    }
    response_ = Response();  // the text may wait for long, and what it was made of would too
    return {};
  }

  const Method& method_;
  grpc::ServerContext context_;
  grpc::ByteBuffer received_;
  grpc::ByteBuffer to_pass_on_;  ///< the request's bytes, if another server may answer
  Request request_;
  Response response_;
  RawWriter writer_;
  Pass pass_;
  RequestCharge charge_;         ///< for the request; ends before the pass
  RequestCharge answer_charge_;  ///< for the answer while it waits
  CallAccess access_;
  std::unique_ptr<RemoteCall> passed_on_;  ///< null: this server answers
  bool answered_ = false;                  ///< by the other server
  bool begun_ = false;
  bool finishing_ = false;
};

}  // namespace atl::frontends::grpc_frontend
