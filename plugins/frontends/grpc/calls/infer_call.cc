#include "frontends/grpc/calls/infer_call.h"

#include <utility>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/grpc/calls/call_metadata.h"
#include "frontends/grpc/calls/error_text.h"
#include "frontends/grpc/calls/message_buffer.h"

namespace atl::frontends::grpc_frontend {

GrpcInferCall::GrpcInferCall(InferQueue& queue) : V2UnaryCall(queue.frontend), queue_(queue) {}

void GrpcInferCall::arm(InferQueue& queue) {
  std::unique_ptr<GrpcInferCall> call = queue.calls.take();
  if (call == nullptr) call = std::make_unique<GrpcInferCall>(queue);
  call.release()->wait();
}

void GrpcInferCall::wait() {
  infer_.begin(kWritePart | kEndPart);
  wait_start_ns_ = queue_.trace_time_ns();
  context_.emplace();
  head_.emplace(*context_);
  writer_.emplace(&*context_);
  context_->AsyncNotifyWhenDone(end_.tag());
  queue_.service.RequestModelInfer(&*context_, &received_.bytes(), &*writer_, queue_.queue.get(),
                                   queue_.queue.get(), start_.tag());
}

void GrpcInferCall::on_start(bool ok) {
  if (!ok) {
    delete this;  // the server shuts down: there is no call
    return;
  }
  arm(queue_);
  wait_end_ns_ = queue_.trace_time_ns();
  const AccessPoint& access = *queue_.frontend.server.access;
  if (access_.ask(access, ApiCategory::kInference, *context_, *queue_.queue, settled_)) on_settled();
}

int64_t GrpcInferCall::deadline_ns() const noexcept {
  return grpc_frontend::deadline_ns(*context_, queue_.frontend.host.clock());
}

void GrpcInferCall::begin_remote(const HostPort& server) noexcept {
  remote_ = std::make_unique<RemoteCall>(
      queue_.remote_channels.stub(server, queue_.frontend.host.clock().now_ns()), *context_);
  remote_->start(kGrpcInferPath, received_.opened_bytes(), *queue_.queue, remote_answer_);
}

void GrpcInferCall::on_remote_answer(bool) {
  remote_->pass_back(&*context_);
  Status counted = remote_->status().ok() ? infer_.memory.add(remote_->answer().Length()) : Status();
  if (!counted.ok()) return answer_error(counted);
  set_compression(queue_.frontend.settings, &*context_);
  if (remote_->status().ok()) {
    writer_->Finish(remote_->answer(), grpc::Status::OK, written_.tag());
  } else {
    writer_->FinishWithError(remote_->status(), written_.tag());
  }
}

void GrpcInferCall::answer(Response& response) noexcept {
  Status status = write_response(response, [this](V2InferResponse& message) -> Status {
    grpc_slice head = grpc_slice_malloc(message.head_bytes());
    grpc::ByteBuffer buffer = to_buffer(head, message.write(GRPC_SLICE_START_PTR(head)));
    set_compression(queue_.frontend.settings, &*context_);
    infer_.trace("GRPC_SEND_START");
    writer_->Finish(buffer, grpc::Status::OK, written_.tag());
    return {};
  });
  infer_.outputs.drop(response);
  if (!status.ok()) answer_error(status);
}

void GrpcInferCall::answer_error(const Status& status) noexcept {
  infer_.trace("GRPC_SEND_START");
  add_retry_after(*context_, infer_.request.retry_after_ms);
  const Status told = client_status(status, infer_.request.times.deadline_ns, queue_.frontend.host.clock());
  writer_->FinishWithError(to_grpc(told), written_.tag());
}

void GrpcInferCall::on_written(bool) {
  infer_.trace("GRPC_SEND_END");
  infer_.done(kWritePart);
}

void GrpcInferCall::on_end(bool) {
  if (context_->IsCancelled()) {
    infer_.request.cancellation.cancel();
    if (remote_ != nullptr) remote_->cancel();
  }
  infer_.done(kEndPart);
}

void GrpcInferCall::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  received_.clear();
  infer_.reset();
  remote_.reset();
  writer_.reset();
  head_.reset();
  context_.reset();
  queue_.calls.give(std::unique_ptr<GrpcInferCall>(this));
}

}  // namespace atl::frontends::grpc_frontend
