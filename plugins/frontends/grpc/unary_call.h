/// One call of an ordinary (message in, message out) method.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <functional>
#include <string>
#include <utility>

#include "atoll/gate.h"
#include "common/wire_messages.h"
#include "event.h"

namespace atl::frontends::grpc_frontend {

/// Ends a call. [any], once.
using Finish = std::function<void(Status)>;

/// A method: how gRPC is asked for its next call, and who answers it. Lives as long as the server.
template <class Request, class Response>
struct UnaryMethod {
  std::function<void(grpc::ServerContext*, Request*, grpc::ServerAsyncResponseWriter<Response>*, void*)> arm;
  /// Request and response are valid until finish is called, on this or another thread.
  std::function<void(const Request&, Response*, Finish)> handle;
  /// Whose pass a call holds; null for health calls, which are answered while the server drains.
  Gate* gate = nullptr;
};

template <class Request, class Response>
class UnaryCall final : public Event {
 public:
  using Method = UnaryMethod<Request, Response>;

  /// Waits for the next call of the method. It owns itself: it ends with the call or with the server.
  static void arm(const Method& method) {
    auto* call = new UnaryCall(method);
    method.arm(&call->context_, &call->request_, &call->writer_, call);
  }

  void on_event(bool ok) noexcept override {
    if (finishing_ || !ok) {
      delete this;
      return;
    }
    arm(method_);
    finishing_ = true;
    if (method_.gate != nullptr) {
      pass_ = Pass(*method_.gate);
      if (!pass_) {
        finish(unavailable(messages::kGrpcShuttingDown));
        return;
      }
    }
    method_.handle(request_, &response_, [this](Status status) { finish(std::move(status)); });
  }

 private:
  explicit UnaryCall(const Method& method) : method_(method), writer_(&context_) {}
  ~UnaryCall() = default;

  void finish(Status status) noexcept {
    if (status.ok()) {
      writer_.Finish(response_, grpc::Status::OK, this);
    } else {
      writer_.FinishWithError(to_grpc(status), this);
    }
  }

  const Method& method_;
  grpc::ServerContext context_;
  Request request_;
  Response response_;
  grpc::ServerAsyncResponseWriter<Response> writer_;
  Pass pass_;
  bool finishing_ = false;
};

}  // namespace atl::frontends::grpc_frontend
