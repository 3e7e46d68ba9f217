#include "stream_request.h"

#include <utility>

#include "call_metadata.h"
#include "common/classification.h"
#include "common/error_map.h"
#include "common/wire_format.h"
#include "common/wire_messages.h"
#include "error_text.h"
#include "infer_stream.h"
#include "output_memory.h"
#include "stream_message.h"

namespace atl::frontends::grpc_frontend {

StreamRequest::StreamRequest(InferQueue& queue) : queue_(queue) {
  regions.set_source(*queue.backplane.server.shared_memory, queue.backplane.settings.copy_limit(),
                     queue.backplane.server.device_memory.get());
  memory.set_source(*queue.backplane.server.request_memory);
  received_.set_charge(memory);
}

StreamRequest& StreamRequest::start(InferStream& stream, grpc::ByteBuffer* received) {
  InferQueue& queue = stream.queue();
  std::unique_ptr<StreamRequest> context = queue.stream_requests.take();
  if (context == nullptr) context = std::make_unique<StreamRequest>(queue);
  context->begin(kWritePart | kRunPart);
  context->stream_ = &stream;
  context->decoupled_ = false;
  context->too_slow_ = false;
  context->place = {};
  context->place.received_bytes = received->Length();
  context->received_.bytes().Swap(received);
  return *context.release();
}

void StreamRequest::run(int64_t read_start_ns, int64_t read_end_ns) noexcept {
  read_start_ns_ = read_start_ns;
  read_end_ns_ = read_end_ns;
  pass_ = queue_.backplane.calls.enter();
  Result<bool> opened = received_.open_small(queue_.backplane.settings.max_message_bytes);
  if (opened.ok() && opened.value()) {
    parse();
  } else if (opened.ok()) {
    // Those behind it wait, so that their models get them in their order.
    about_to_wait();
    reading_ = true;
    queue_.backplane.large_work->post(
        {[](void* self) { static_cast<StreamRequest*>(self)->read_large(); }, this, nullptr});
    return;
  }
  look_up(opened.ok() ? Status() : std::move(opened).status());
}

void StreamRequest::read_large() noexcept {
  Status opened = received_.open(queue_.backplane.settings.max_message_bytes);
  if (opened.ok()) parse();
  came_ = std::move(opened);
  wake_up_.send(*queue_.queue, woken_);
}

void StreamRequest::parse() noexcept {
  parsed_ = received_.parse(request.arena());
  // What it was opened to is counted already; as it came it is known only now.
  if (parsed_.ok()) parsed_ = charge(kRequestBytes + place.received_bytes);
  // Of a message that is not valid the id may have been read, and may be what is not valid.
  if (is_utf8(received_.message().id())) request.id = received_.message().id();
}

void StreamRequest::look_up(const Status& opened) noexcept {
  Result<bool> found = opened.ok() ? find() : Result<bool>(true);
  if (found.ok() && !found.value()) return;  // model_came() goes on
  // It keeps the stream, and may be gone when it has gone on.
  std::shared_ptr<InferStream> held;
  if (std::exchange(holds_, false)) held = stream_->shared_from_this();
  if (opened.ok()) {
    go_on(std::move(found).status());
  } else {
    // As gRPC itself does with messages that are too large.
    stream_->shut_down(opened.code(), std::string(opened.message()));
    abandon();
    done(kRunPart);
  }
  if (held != nullptr) held->go_on();
}

void StreamRequest::go_on(Status status) noexcept {
  if (status.ok()) status = prepare();
  if (!decoupled_) stream_->keep_order(*this);
  if (status.ok()) {
    status = submit();
    if (!status.ok()) answer_refusal(status);
  } else {
    answer_refusal(status);
    abandon();
  }
  done(kRunPart);
}

void StreamRequest::about_to_wait() noexcept {
  holds_ = true;
  stream_->hold();
}

void StreamRequest::model_came(Status status) noexcept {
  came_ = std::move(status);
  wake_up_.send(*queue_.queue, woken_);
}

void StreamRequest::on_woken(bool) {
  if (std::exchange(reading_, false)) return look_up(std::move(came_));
  holds_ = false;
  // It keeps the stream, and may be gone when it has gone on.
  std::shared_ptr<InferStream> stream = stream_->shared_from_this();
  go_on(std::move(came_));
  stream->go_on();
}

Result<bool> StreamRequest::find() noexcept {
  const Backplane& backplane = queue_.backplane;
  if (!pass_) return unavailable(messages::kGrpcShuttingDown);
  ATOLL_RETURN_IF_ERROR(std::move(parsed_));
  request.caller = stream_->caller();
  Result<int64_t> version = received_.version(backplane.server);
  if (!version.ok()) return std::move(version).status();
  request.times.deadline_ns = stream_->deadline_ns();
  return find_model(*backplane.server.router, *backplane.server.catalog, backplane.host.registry(),
                    received_.message().model_name(), version.value());
}

Status StreamRequest::prepare() noexcept {
  const Backplane& backplane = queue_.backplane;
  const ModelInfo& info = model->info();
  decoupled_ = info.decoupled;
  ATOLL_RETURN_IF_ERROR(reason(received_.message().fill(request, regions, backplane.settings.copy_limit())));
  ATOLL_RETURN_IF_ERROR(forward_headers(backplane.settings.header_forward, stream_->context(), request));
  ATOLL_RETURN_IF_ERROR(read_tenant(backplane.settings.tenant, stream_->context(), request));
  request.trace =
      start_trace(*backplane.server.tracing, stream_->context(), info.name, info.version, request.id);
  trace("GRPC_WAITREAD_START", read_start_ns_);
  trace("GRPC_WAITREAD_END", read_end_ns_);
  return {};
}

void StreamRequest::on_response(Response* response, uint32_t flags) noexcept {
  if (decoupled_) {
    on_decoupled(response, flags);
  } else {
    on_single(response, flags);
  }
}

void StreamRequest::on_single(Response* response, uint32_t flags) noexcept {
  if (kept_ == nullptr) {
    kept_ = response;
  } else if (response != nullptr) {
    discard(response);  // clients of a stream get the first one, those of a unary call an error
  }
  if ((flags & kFinal) == 0) return;
  if (Response* first = std::exchange(kept_, nullptr)) {
    answer(*first, true);
  } else {
    answer_failure(Status(Code::kInternal, messages::not_single_response(0)), true);
  }
}

void StreamRequest::on_decoupled(Response* response, uint32_t flags) noexcept {
  const bool last = (flags & kFinal) != 0;
  if (too_slow_) {
    if (response != nullptr) discard(response);
  } else if (response != nullptr) {
    answer(*response, last);
  } else if (last && received_.message().empty_final_response()) {
    Response* empty = new_response();
    grpc::ByteBuffer message;
    add_final_flag(*empty, true);
    // A request that names no version gets none here either.
    const std::string_view version =
        received_.message().model_version().empty() ? std::string_view() : model->info().version_text;
    // A message without tensors is never too large.
    (void)write_stream_message({}, model->info().name, version, request, *empty, &message).ok();
    reclaim(empty);
    (void)stream_->write(*this, &message, true, false);
  } else if (last) {
    stream_->answered(*this);
  }
}

void StreamRequest::answer(Response& response, bool last) noexcept {
  const ModelInfo& info = model->info();
  Status status = std::move(response.error);
  if (status.ok()) status = regions.check();
  if (status.ok()) status = classify_outputs(info, request, response);
  grpc::ByteBuffer message;
  if (status.ok()) {
    add_final_flag(response, last);
    status = write_stream_message({}, info.name, info.version_text, request, response, &message);
  }
  discard(&response);
  // What waits for the client is bounded by the stream, however many answers come.
  if (decoupled_) memory.reduce(std::exchange(output_bytes_, 0));
  if (!status.ok()) {
    answer_failure(status, last);
  } else if (stream_->write(*this, &message, last, decoupled_) == InferStream::Written::kTooMuch) {
    answer_too_slow(last);
  }
}

void StreamRequest::answer_failure(const Status& status, bool last) noexcept {
  if (stream_->ends_on_failure()) {
    stream_->shut_down(status.code(), std::string(status.message()));
    return;
  }
  Response* empty = new_response();
  grpc::ByteBuffer message;
  add_final_flag(*empty, last);
  (void)write_stream_message(as_utf8(client_text(status)), received_.message().model_name(),
                             received_.message().model_version(), request, *empty, &message)
      .ok();
  reclaim(empty);
  const bool bounded = decoupled_ && !too_slow_;
  if (stream_->write(*this, &message, last, bounded) == InferStream::Written::kTooMuch) {
    answer_too_slow(last);
  }
}

void StreamRequest::answer_refusal(const Status& status) noexcept {
  Response* empty = new_response();
  grpc::ByteBuffer message;
  (void)write_stream_message(as_utf8(client_text(status)), {}, {}, request, *empty, &message).ok();
  reclaim(empty);
  (void)stream_->write(*this, &message, true, false);
}

void StreamRequest::answer_too_slow(bool is_last) noexcept {
  too_slow_ = true;
  const Settings& settings = queue_.backplane.settings;
  answer_failure(make_status(Code::kResourceExhausted, messages::request_prefix(request.id),
                             "the client does not read the responses of model '", model->info().name,
                             "' as fast as they come: more than ", settings.max_response_pool_size,
                             " of them or ", settings.max_stream_backlog_bytes,
                             " bytes would wait to be written; the request was cancelled"),
                 true);
  if (!is_last) cancel();
}

Status StreamRequest::allocate_output(Response& response, OutputTensor& output,
                                      uint64_t size_bytes) noexcept {
  if (size_bytes > kInlineBytes) {
    ATOLL_RETURN_IF_ERROR(charge(size_bytes));
    output_bytes_ += size_bytes;
  }
  return give_output_memory(response, output, size_bytes);
}

void StreamRequest::drop_output(OutputTensor& output) noexcept { free_output_memory(output); }

void StreamRequest::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  InferStream* stream = std::exchange(stream_, nullptr);
  const uint64_t received_bytes = place.received_bytes;
  place = {};
  output_bytes_ = 0;
  received_.clear();
  reset_request();
  queue_.stream_requests.give(std::unique_ptr<StreamRequest>(this));
  stream->gone(received_bytes);
}

}  // namespace atl::frontends::grpc_frontend
