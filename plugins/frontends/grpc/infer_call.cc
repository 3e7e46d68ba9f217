#include "frontends/grpc/infer_call.h"

#include <utility>

#include "frontends/common/classification.h"
#include "frontends/common/management/remote_server.h"
#include "frontends/common/output_memory.h"
#include "frontends/common/v2_infer_response.h"
#include "frontends/common/wire_messages.h"
#include "frontends/grpc/call_metadata.h"
#include "frontends/grpc/error_text.h"
#include "frontends/grpc/message_buffer.h"

namespace atl::frontends::grpc_frontend {

GrpcInferCall::GrpcInferCall(InferQueue& queue) : queue_(queue) {
  regions.set_source(*queue.frontend.server.shared_memory, queue.frontend.settings.copy_limit(),
                     queue.frontend.server.device_memory.get());
  memory.set_source(*queue.frontend.server.request_memory);
  received_.set_charge(memory);
}

void GrpcInferCall::arm(InferQueue& queue) {
  std::unique_ptr<GrpcInferCall> call = queue.calls.take();
  if (call == nullptr) call = std::make_unique<GrpcInferCall>(queue);
  call.release()->wait();
}

void GrpcInferCall::wait() {
  begin(kWritePart | kEndPart);
  wait_start_ns_ = queue_.trace_time_ns();
  context_.emplace();
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
  if (access_.ask(access, ApiCategory::kInference, *context_, *queue_.queue, settled_)) on_settled(true);
}

void GrpcInferCall::on_settled(bool) {
  Status refusal = access_.take(&request.caller);
  if (refusal.ok()) {
    pass_ = queue_.frontend.calls.enter();
    if (!pass_) refusal = unavailable(messages::kGrpcShuttingDown);
  }
  if (refusal.ok()) refusal = charge(kRequestBytes + received_.bytes().Length());
  if (!refusal.ok()) {
    received_.clear();
    refuse_call(refusal);
    return;
  }
  Result<bool> read_here = read();
  if (!read_here.ok() || read_here.value()) find(std::move(read_here).status());
}

Result<bool> GrpcInferCall::read() noexcept {
  const GrpcContext& frontend = queue_.frontend;
  Result<bool> opened = received_.open_small(frontend.settings.max_message_bytes);
  if (!opened.ok()) return reason(std::move(opened).status());
  if (!opened.value()) return read_elsewhere(*frontend.large_work, static_cast<Next>(&GrpcInferCall::find));
  ATOLL_RETURN_IF_ERROR(received_.parse(request.arena()));
  return true;
}

Status GrpcInferCall::read_large() noexcept {
  ATOLL_RETURN_IF_ERROR(received_.open(queue_.frontend.settings.max_message_bytes));
  return received_.parse(request.arena());
}

bool GrpcInferCall::find(Status read) noexcept {
  if (!read.ok()) return refuse_call(read);
  const GrpcContext& frontend = queue_.frontend;
  request.times.deadline_ns = deadline_ns(*context_, frontend.host.clock());
  if (has_remote_models(frontend.server) && pass_on()) return true;
  return begin_call({*frontend.server.router, *frontend.server.catalog, frontend.host.registry()},
                    received_.message().model_name(), received_.version(frontend.server));
}

bool GrpcInferCall::pass_on() noexcept {
  V2InferRequest& message = received_.message();
  Result<std::optional<RemoteServer>> found = find_remote_server(
      queue_.frontend.server, message.model_name(), metadata_value(*context_, RemoteModels::kLeaseHeader));
  if (!found.ok()) return refuse_call(found.status());
  if (!*found) return false;
  const HostPort& server = (*found)->grpc;
  if (server.host.empty())
    return refuse_call(unimplemented(messages::remote_without_grpc(message.model_name())));
  if (message.uses_shared_memory())
    return refuse_call(Status(Code::kInvalidArgument, messages::remote_shared_memory(message.model_name())));
  if (request.cancellation.cancelled()) return refuse_call(Status(Code::kCancelled, {}));
  remote_ = std::make_unique<RemoteCall>(
      queue_.remote_channels.stub(server, queue_.frontend.host.clock().now_ns()), *context_);
  remote_->start(kInferMethod, received_.opened_bytes(), *queue_.queue, remote_answer_);
  abandon();
  return true;
}

void GrpcInferCall::on_remote_answer(bool) {
  remote_->pass_back(&*context_);
  Status counted = remote_->status().ok() ? charge(remote_->answer().Length()) : Status();
  if (!counted.ok()) return answer_error(counted);
  queue_.frontend.settings.set_compression(&*context_);
  if (remote_->status().ok()) {
    writer_->Finish(remote_->answer(), grpc::Status::OK, written_.tag());
  } else {
    writer_->FinishWithError(remote_->status(), written_.tag());
  }
}

Result<bool> GrpcInferCall::parse_request() noexcept {
  if (model->info().decoupled) return unimplemented(messages::kGrpcDecoupled);
  ATOLL_RETURN_IF_ERROR(
      reason(received_.message().fill(request, regions, queue_.frontend.settings.copy_limit())));
  return true;
}

Status GrpcInferCall::read_head() noexcept {
  ATOLL_RETURN_IF_ERROR(read_metadata(queue_.frontend, *context_, model->info(), request));
  trace("GRPC_WAITREAD_START", wait_start_ns_);
  trace("GRPC_WAITREAD_END", wait_end_ns_);
  return {};
}

Status GrpcInferCall::check_output(const OutputTensor&, uint64_t size_bytes) noexcept {
  return check_output_bytes(size_bytes);
}

void GrpcInferCall::answer(Response& response) noexcept {
  const ModelInfo& info = model->info();
  Status status = regions.check();
  if (status.ok()) status = classify_outputs(info, request, response);
  if (status.ok()) {
    V2InferResponse message(info.name, info.version_text, request, response, kInlineBytes);
    if (message.total_bytes() > kMaxResponseBytes) {
      status = Status(Code::kInvalidArgument, messages::response_too_large(message.total_bytes()));
    } else {
      grpc_slice head = grpc_slice_malloc(message.head_bytes());
      grpc::ByteBuffer buffer = to_buffer(head, message.write(GRPC_SLICE_START_PTR(head)));
      queue_.frontend.settings.set_compression(&*context_);
      trace("GRPC_SEND_START");
      writer_->Finish(buffer, grpc::Status::OK, written_.tag());
    }
  }
  drop_outputs(response);
  if (!status.ok()) answer_error(status);
}

void GrpcInferCall::answer_error(const Status& status) noexcept {
  trace("GRPC_SEND_START");
  add_retry_after(*context_, request.retry_after_ms);
  writer_->FinishWithError(to_grpc(status), written_.tag());
}

void GrpcInferCall::on_written(bool) {
  trace("GRPC_SEND_END");
  done(kWritePart);
}

void GrpcInferCall::on_end(bool) {
  if (context_->IsCancelled()) {
    request.cancellation.cancel();
    if (remote_ != nullptr) remote_->cancel();
  }
  done(kEndPart);
}

void GrpcInferCall::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  received_.clear();
  reset_request();
  remote_.reset();
  writer_.reset();
  context_.reset();
  queue_.calls.give(std::unique_ptr<GrpcInferCall>(this));
}

}  // namespace atl::frontends::grpc_frontend
