#include "frontends/grpc/calls/infer_call.h"

#include <utility>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/grpc/method_list.h"
#include "frontends/common/grpc/status_text.h"
#include "frontends/grpc/calls/call_metadata.h"
#include "frontends/grpc/calls/error_text.h"
#include "frontends/grpc/calls/message_buffer.h"

namespace atl::frontends::grpc_frontend {

GrpcInferCall::GrpcInferCall(InferQueue& queue) : queue_(queue), service_(queue.frontend, *this) {}

void GrpcInferCall::arm(InferQueue& queue) {
  std::unique_ptr<GrpcInferCall> call = queue.calls.take();
  if (call == nullptr) call = std::make_unique<GrpcInferCall>(queue);
  call.release()->wait();
}

void GrpcInferCall::wait() {
  service_.begin(kWritePart | kEndPart);
  service_.set_wait_start(queue_.trace_time_ns());
  context_.emplace();
  head_.emplace(*context_);
  writer_.emplace(&*context_);
  context_->AsyncNotifyWhenDone(end_.tag());
  queue_.service.RequestModelInfer(&*context_, &service_.received().bytes(), &*writer_, queue_.queue.get(),
                                   queue_.queue.get(), start_.tag());
}

void GrpcInferCall::on_start(bool ok) {
  if (!ok) {
    delete this;  // the server shuts down: there is no call
    return;
  }
  arm(queue_);
  service_.set_wait_end(queue_.trace_time_ns());
  const AccessPoint& access = *queue_.frontend.server.access;
  if (access_.ask(access, {{}, kGrpcInferPath}, ApiCategory::kInference, *context_, *queue_.queue, settled_))
    service_.on_settled();
}

int64_t GrpcInferCall::deadline_ns() const noexcept {
  return grpc_frontend::deadline_ns(*context_, queue_.frontend.host.clock());
}

void GrpcInferCall::begin_remote(const HostPort& server) noexcept {
  remote_ = std::make_unique<RemoteCall>(
      queue_.remote_channels.stub(server, queue_.frontend.host.clock().now_ns()), *context_);
  remote_->start(kGrpcInferPath, service_.received().opened_bytes(), *queue_.queue, remote_answer_);
}

void GrpcInferCall::on_remote_answer(bool) {
  remote_->pass_back(&*context_);
  Status counted = remote_->status().ok() ? service_.charge(remote_->answer().Length()) : Status();
  if (!counted.ok()) return service_.answer_error(counted);
  set_compression(queue_.frontend.settings, &*context_);
  access_.set_status(remote_->status().error_code());
  if (remote_->status().ok()) {
    writer_->Finish(remote_->answer(), grpc::Status::OK, written_.tag());
  } else {
    writer_->FinishWithError(remote_->status(), written_.tag());
  }
}

Status GrpcInferCall::write(V2InferResponse& message) noexcept {
  grpc_slice head = grpc_slice_malloc(message.head_bytes());
  answer_ = to_buffer(head, message.write(GRPC_SLICE_START_PTR(head)));
  return {};
}

void GrpcInferCall::send() noexcept {
  set_compression(queue_.frontend.settings, &*context_);
  service_.trace("GRPC_SEND_START");
  access_.set_status(0);
  writer_->Finish(answer_, grpc::Status::OK, written_.tag());
  answer_.Clear();
}

void GrpcInferCall::send_error(const Status& status, uint32_t retry_after_ms) noexcept {
  service_.trace("GRPC_SEND_START");
  add_retry_after(*context_, retry_after_ms);
  access_.set_status(grpc_code(status.code()));
  writer_->FinishWithError(to_grpc(status), written_.tag());
}

void GrpcInferCall::on_written(bool) {
  service_.trace("GRPC_SEND_END");
  service_.done(kWritePart);
}

void GrpcInferCall::on_end(bool) {
  if (context_->IsCancelled()) {
    service_.cancel();
    if (remote_ != nullptr) remote_->cancel();
  }
  service_.done(kEndPart);
}

void GrpcInferCall::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = service_.reset();
  access_.forget();
  remote_.reset();
  writer_.reset();
  head_.reset();
  context_.reset();
  queue_.calls.give(std::unique_ptr<GrpcInferCall>(this));
}

}  // namespace atl::frontends::grpc_frontend
