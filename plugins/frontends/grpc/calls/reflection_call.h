/// Streams of questions about the services, over the gRPC library.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstdint>
#include <list>

#include "frontends/common/call/request_charge.h"
#include "frontends/common/grpc/call_context.h"
#include "frontends/common/grpc/reflection.h"
#include "frontends/grpc/calls/call_access.h"
#include "frontends/grpc/calls/event.h"

namespace grpc {
class ServerBuilder;
}

namespace atl::frontends::grpc_frontend {

using ReflectionStream = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

/// The service of one version, with raw bytes.
class ReflectionService final : public grpc::Service {
 public:
  /// \param path  of its one method; valid as long as this
  explicit ReflectionService(const char* path);
  virtual ~ReflectionService() = default;
  void request(grpc::ServerContext* context, ReflectionStream* stream, grpc::ServerCompletionQueue* queue,
               void* tag) {
    RequestAsyncBidiStreaming(0, context, stream, queue, queue, tag);
  }
  const char* path() const noexcept { return path_; }

 private:
  const char* const path_;
};

/// Both of them. Lives as long as the completion queues.
struct ReflectionCalls {
  explicit ReflectionCalls(GrpcCallContext& shared);

  void add_to(grpc::ServerBuilder& builder);
  /// Waits for a call of each on the queue.
  void arm(grpc::ServerCompletionQueue& queue);

  GrpcCallContext& frontend;
  std::list<ReflectionService> services;  ///< empty: they are not served
  /// Calls that have begun and whose memory was not freed: the queues stay as long.
  std::atomic<int64_t> open{0};
};

/// It owns itself: it ends with the call or with the server. Questions are answered one after the other. [queue's thread]
class ReflectionCall final {
 public:
  static void arm(ReflectionCalls& calls, ReflectionService& service, grpc::ServerCompletionQueue& queue);

 private:
  ReflectionCall(ReflectionCalls& calls, ReflectionService& service, grpc::ServerCompletionQueue& queue)
      : calls_(calls), service_(service), queue_(queue) {
    charge_.set_source(*calls.frontend.server.request_memory);
  }
  ~ReflectionCall() = default;

  void on_start(bool ok);
  void on_settled(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);
  void finish(const grpc::Status& status) noexcept;
  Result<std::string> answer() noexcept;

  ReflectionCalls& calls_;
  ReflectionService& service_;
  grpc::ServerCompletionQueue& queue_;
  Step<ReflectionCall> start_{this, &ReflectionCall::on_start};
  Step<ReflectionCall> settled_{this, &ReflectionCall::on_settled};
  Step<ReflectionCall> read_{this, &ReflectionCall::on_read};
  Step<ReflectionCall> written_{this, &ReflectionCall::on_written};
  Step<ReflectionCall> finished_{this, &ReflectionCall::on_finished};
  grpc::ServerContext context_;
  ReflectionStream stream_{&context_};
  CallAccess access_;
  grpc::ByteBuffer question_;
  RequestCharge charge_;  ///< for the answer while it waits
};

}  // namespace atl::frontends::grpc_frontend
