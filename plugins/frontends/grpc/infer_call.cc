#include "infer_call.h"

#include <utility>

#include "call_metadata.h"
#include "common/classification.h"
#include "common/v2_infer_response.h"
#include "common/wire_messages.h"
#include "error_text.h"
#include "output_memory.h"

namespace atl::frontends::grpc_frontend {

InferCall::InferCall(InferQueue& queue) : queue_(queue) {
  regions.set_source(*queue.backplane.server.shared_memory, queue.backplane.settings.copy_limit(),
                     queue.backplane.server.device_memory.get());
  memory.set_source(*queue.backplane.server.request_memory);
  received_.set_charge(memory);
}

void InferCall::arm(InferQueue& queue) {
  std::unique_ptr<InferCall> call = queue.calls.take();
  if (call == nullptr) call = std::make_unique<InferCall>(queue);
  call.release()->wait();
}

void InferCall::wait() {
  begin(kWritePart | kEndPart);
  wait_start_ns_ = queue_.trace_time_ns();
  context_.emplace();
  writer_.emplace(&*context_);
  context_->AsyncNotifyWhenDone(end_.tag());
  queue_.service.RequestModelInfer(&*context_, &received_.bytes(), &*writer_, queue_.queue.get(),
                                   queue_.queue.get(), start_.tag());
}

void InferCall::on_start(bool ok) {
  if (!ok) {
    delete this;  // the server shuts down: there is no call
    return;
  }
  arm(queue_);
  wait_end_ns_ = queue_.trace_time_ns();
  const AccessPoint& access = *queue_.backplane.server.access;
  if (access_.ask(access, ApiCategory::kInference, *context_, *queue_.queue, settled_)) on_settled(true);
}

void InferCall::on_settled(bool) {
  Status refusal = access_.take(&request.caller);
  if (refusal.ok()) {
    pass_ = queue_.backplane.calls.enter();
    if (!pass_) refusal = unavailable(messages::kGrpcShuttingDown);
  }
  if (refusal.ok()) refusal = charge(kRequestBytes + received_.bytes().Length());
  if (!refusal.ok()) {
    received_.clear();
    abandon();
    answer_error(refusal);
    return;
  }
  Result<bool> read_here = read();
  if (read_here.ok() && !read_here.value()) return;
  look_up(read_here.ok() ? Status() : std::move(read_here).status());
}

Result<bool> InferCall::read() noexcept {
  const Backplane& backplane = queue_.backplane;
  Result<bool> opened = received_.open_small(backplane.settings.max_message_bytes);
  if (!opened.ok()) return reason(std::move(opened).status());
  if (opened.value()) {
    ATOLL_RETURN_IF_ERROR(received_.parse(request.arena()));
    return true;
  }
  reading_ = true;
  const Task work{[](void* self) { static_cast<InferCall*>(self)->read_large(); }, this, nullptr};
  if (Status status = backplane.large_work->try_post(work); !status.ok()) {
    reading_ = false;
    request.retry_after_ms = LargeWork::kRetryAfterMs;
    return status;
  }
  return false;
}

void InferCall::read_large() noexcept {
  Status status;
  if (request.cancellation.cancelled()) status = Status(Code::kCancelled, {});
  if (status.ok()) status = received_.open(queue_.backplane.settings.max_message_bytes);
  if (status.ok()) status = received_.parse(request.arena());
  came_ = reason(std::move(status));
  wake_up_.send(*queue_.queue, woken_);
}

void InferCall::look_up(Status status) noexcept {
  if (status.ok()) {
    Result<bool> found = find();
    if (found.ok() && !found.value()) return;  // model_came() goes on
    if (!found.ok()) status = std::move(found).status();
  }
  go_on(std::move(status));
}

Result<bool> InferCall::find() noexcept {
  const Backplane& backplane = queue_.backplane;
  Result<int64_t> version = received_.version(backplane.server);
  if (!version.ok()) return std::move(version).status();
  request.times.deadline_ns = deadline_ns(*context_, backplane.host.clock());
  return find_model(*backplane.server.router, *backplane.server.catalog, backplane.host.registry(),
                    received_.message().model_name(), version.value());
}

void InferCall::model_came(Status status) noexcept {
  came_ = std::move(status);
  wake_up_.send(*queue_.queue, woken_);
}

void InferCall::on_woken(bool) {
  if (std::exchange(reading_, false)) {
    look_up(std::move(came_));
  } else {
    go_on(std::move(came_));
  }
}

void InferCall::go_on(Status status) noexcept {
  if (status.ok()) status = prepare();
  if (!status.ok()) {
    abandon();
    answer_error(status);
    return;
  }
  if (status = submit(); !status.ok()) answer_error(status);
}

Status InferCall::prepare() noexcept {
  const Backplane& backplane = queue_.backplane;
  if (model->info().decoupled) return unimplemented(messages::kGrpcDecoupled);
  ATOLL_RETURN_IF_ERROR(reason(received_.message().fill(request, regions, backplane.settings.copy_limit())));
  ATOLL_RETURN_IF_ERROR(forward_headers(backplane.settings.header_forward, *context_, request));
  ATOLL_RETURN_IF_ERROR(read_tenant(backplane.settings.tenant, *context_, request));
  const ModelInfo& info = model->info();
  request.trace = start_trace(*backplane.server.tracing, *context_, info.name, info.version, request.id);
  trace("GRPC_WAITREAD_START", wait_start_ns_);
  trace("GRPC_WAITREAD_END", wait_end_ns_);
  return {};
}

Status InferCall::allocate_output(Response& response, OutputTensor& output, uint64_t size_bytes) noexcept {
  if (size_bytes > kInlineBytes) ATOLL_RETURN_IF_ERROR(charge(size_bytes));
  return give_output_memory(response, output, size_bytes);
}

void InferCall::drop_output(OutputTensor& output) noexcept { free_output_memory(output); }

void InferCall::answer(Response& response) noexcept {
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
      queue_.backplane.settings.set_compression(&*context_);
      trace("GRPC_SEND_START");
      writer_->Finish(buffer, grpc::Status::OK, written_.tag());
    }
  }
  drop_outputs(response);
  if (!status.ok()) answer_error(status);
}

void InferCall::answer_error(const Status& status) noexcept {
  trace("GRPC_SEND_START");
  add_retry_after(*context_, request.retry_after_ms);
  writer_->FinishWithError(to_grpc(status), written_.tag());
}

void InferCall::on_written(bool) {
  trace("GRPC_SEND_END");
  done(kWritePart);
}

void InferCall::on_end(bool) {
  if (context_->IsCancelled()) request.cancellation.cancel();
  done(kEndPart);
}

void InferCall::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  received_.clear();
  reset_request();
  writer_.reset();
  context_.reset();
  queue_.calls.give(std::unique_ptr<InferCall>(this));
}

}  // namespace atl::frontends::grpc_frontend
