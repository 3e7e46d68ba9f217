/// A streaming method that is not served: refused, call by call.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <string>
#include <utility>

#include "frontends/grpc/calls/event.h"

namespace atl::frontends::grpc_frontend {

/// \tparam Stream  the call as its server side sees it, of raw bytes.
template <class Stream>
class RefusedStream final : public Event {
 public:
  /// Asks gRPC for the next call; request is used by methods with one message in.
  using Arm = std::function<void(grpc::ServerContext*, grpc::ByteBuffer* request, Stream*, void* tag)>;

  /// Waits for the next call. It owns itself: it ends with the call or with the server.
  static void arm(Arm arm_function, std::string text) {
    auto* call = new RefusedStream(std::move(arm_function), std::move(text));
    call->arm_(&call->context_, &call->request_, &call->stream_, call->tag());
  }

  void on_event(bool ok) noexcept override {
    if (finishing_ || !ok) {
      delete this;
      return;
    }
    arm(arm_, text_);
    finishing_ = true;
    stream_.Finish({grpc::StatusCode::UNIMPLEMENTED, text_}, tag());
  }

 private:
  RefusedStream(Arm arm_function, std::string text)
      : arm_(std::move(arm_function)), text_(std::move(text)), stream_(&context_) {}
  ~RefusedStream() = default;

  Arm arm_;
  std::string text_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  Stream stream_;
  bool finishing_ = false;
};

}  // namespace atl::frontends::grpc_frontend
