/// One call of an ordinary (message in, message out) method.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <string>
#include <utility>

#include "atoll/gate.h"
#include "frontends/common/management/management.h"
#include "frontends/common/wire_messages.h"
#include "frontends/grpc/call_access.h"
#include "frontends/grpc/decompress.h"
#include "frontends/grpc/error_text.h"
#include "frontends/grpc/event.h"
#include "frontends/grpc/grpc_context.h"

namespace atl::frontends::grpc_frontend {

using RawWriter = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

/// A method: how gRPC is asked for its next call, and who answers it. Lives as long as the server.
template <class Request, class Response>
struct UnaryMethod {
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, RawWriter*, void*)> arm;
  /// Request and response are valid until finish is called, on this or another thread.
  std::function<void(const Request&, Response*, Finish)> handle;
  GrpcContext* frontend = nullptr;
  grpc::ServerCompletionQueue* queue = nullptr;
  ApiCategory category = ApiCategory::kHealth;
  /// Health calls hold no pass of the gate: they are answered while the server drains.
  bool holds_pass = false;
  uint64_t max_bytes = 0;  ///< of a request, after decompression
  /// Whether requests count as memory of requests; those that can only be small do not.
  bool counts_memory = false;
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
    if (finishing_ || (!ok && !begun_)) {
      delete this;
      return;
    }
    if (!std::exchange(begun_, true)) {
      arm(method_);
      const AccessPoint& access = *method_.frontend->server.access;
      if (!access_.ask(access, method_.category, context_, *method_.queue, *this)) return;
    }
    finishing_ = true;
    if (Status status = prepare(); !status.ok()) {
      finish(std::move(status));
      return;
    }
    method_.handle(request_, &response_, [this](Status status) { finish(std::move(status)); });
  }

 private:
  explicit UnaryCall(const Method& method) : method_(method), writer_(&context_) {
    if (method.counts_memory) charge_.set_source(*method.frontend->server.request_memory);
  }
  ~UnaryCall() = default;

  Status prepare() noexcept {
    GrpcContext& frontend = *method_.frontend;
    std::string_view caller;
    ATOLL_RETURN_IF_ERROR(access_.take(&caller));
    if (method_.holds_pass) {
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
    if (!grpc::SerializationTraits<Request>::Deserialize(&received_, &request_).ok()) {
      return internal_error("the request is not a valid ", Request::descriptor()->full_name(), " message");
    }
    return {};
  }

  void finish(Status status) noexcept {
    grpc::ByteBuffer answer;
    bool owned = false;
    if (status.ok() && !grpc::SerializationTraits<Response>::Serialize(response_, &answer, &owned).ok()) {
      status = internal_error("the answer is too large to be sent");
    }
    if (status.ok()) {
      writer_.Finish(answer, grpc::Status::OK, tag());
    } else {
      writer_.FinishWithError(to_grpc(status), tag());
    }
  }

  const Method& method_;
  grpc::ServerContext context_;
  grpc::ByteBuffer received_;
  Request request_;
  Response response_;
  RawWriter writer_;
  Pass pass_;
  RequestCharge charge_;  ///< ends before the pass
  CallAccess access_;
  bool begun_ = false;
  bool finishing_ = false;
};

}  // namespace atl::frontends::grpc_frontend
