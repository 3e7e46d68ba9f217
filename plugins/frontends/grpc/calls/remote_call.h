/// A call with one message and one answer that another server answers: the bytes go there and come back as they are.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <optional>

#include "frontends/grpc/calls/event.h"

namespace atl::frontends::grpc_frontend {

/// What the other server gets of a call beside its messages: its metadata, but for what is not passed on, and its deadline.
void pass_on(const grpc::ServerContext& from, grpc::ClientContext* to);
/// The same in the other direction, when the call has ended there and not yet here.
void pass_back(const grpc::ClientContext& from, grpc::ServerContext* to);

/// [queue's thread]
class RemoteCall {
 public:
  /// \param longest  nothing: as long as the client waits
  RemoteCall(std::shared_ptr<grpc::GenericStub> stub, const grpc::ServerContext& call,
             std::optional<std::chrono::seconds> longest = {});
  /// Once. \param done  ends when there is an answer or a failure
  void start(const char* method, const grpc::ByteBuffer& request, grpc::CompletionQueue& queue, Event& done);

  void cancel() { context_.TryCancel(); }
  // --- after `done` ---
  const grpc::Status& status() const noexcept { return status_; }
  const grpc::ByteBuffer& answer() const noexcept { return answer_; }
  void pass_back(grpc::ServerContext* to) const { grpc_frontend::pass_back(context_, to); }

 private:
  const std::shared_ptr<grpc::GenericStub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
};

}  // namespace atl::frontends::grpc_frontend
