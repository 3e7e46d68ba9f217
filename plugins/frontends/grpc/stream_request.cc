#include "frontends/grpc/stream_request.h"

#include <utility>

#include "frontends/common/classification.h"
#include "frontends/common/error_map.h"
#include "frontends/common/management/remote_server.h"
#include "frontends/common/wire_format.h"
#include "frontends/common/wire_messages.h"
#include "frontends/grpc/call_metadata.h"
#include "frontends/grpc/error_text.h"
#include "frontends/grpc/infer_stream.h"
#include "frontends/grpc/message_buffer.h"
#include "frontends/grpc/stream_message.h"

namespace atl::frontends::grpc_frontend {

StreamRequest::StreamRequest(InferQueue& queue) : queue_(queue) {
  regions.set_source(*queue.frontend.server.shared_memory, queue.frontend.settings.copy_limit(),
                     queue.frontend.server.device_memory.get());
  memory.set_source(*queue.frontend.server.request_memory);
  received_.set_charge(memory);
}

StreamRequest& StreamRequest::start(InferStream& stream, grpc::ByteBuffer* received, int64_t read_start_ns,
                                    int64_t read_end_ns) {
  InferQueue& queue = stream.queue();
  std::unique_ptr<StreamRequest> context = queue.stream_requests.take();
  if (context == nullptr) context = std::make_unique<StreamRequest>(queue);
  context->begin(kWritePart | kRunPart);
  context->stream_ = &stream;
  context->decoupled_ = false;
  context->too_slow_ = false;
  context->read_start_ns_ = read_start_ns;
  context->read_end_ns_ = read_end_ns;
  context->place = {};
  context->place.received_bytes = received->Length();
  context->received_.bytes().Swap(received);
  return *context.release();
}

void StreamRequest::run() noexcept {
  pass_ = queue_.frontend.calls.enter();
  Result<bool> opened = received_.open_small(queue_.frontend.settings.max_message_bytes);
  if (opened.ok() && !opened.value()) {
    queue_.frontend.large_work->post(reading(static_cast<Next>(&StreamRequest::find)));
    return;
  }
  if (opened.ok()) parse();
  if (find(std::move(opened).status())) ran();
}

Status StreamRequest::read_large() noexcept {
  ATOLL_RETURN_IF_ERROR(received_.open(queue_.frontend.settings.max_message_bytes));
  parse();
  return {};
}

void StreamRequest::parse() noexcept {
  parsed_ = received_.parse(request.arena());
  // What it was opened to is counted already; as it came it is known only now.
  if (parsed_.ok()) parsed_ = charge(kRequestBytes + place.received_bytes);
  // Of a message that is not valid the id may have been read, and may be what is not valid.
  if (is_utf8(received_.message().id())) request.id = received_.message().id();
}

bool StreamRequest::find(Status opened) noexcept {
  if (!opened.ok()) {
    // As gRPC itself does with messages that are too large.
    stream_->shut_down(opened.code(), std::string(opened.message()));
    abandon();
    return true;
  }
  if (!pass_) return refuse_call(unavailable(messages::kGrpcShuttingDown));
  if (!parsed_.ok()) return refuse_call(std::exchange(parsed_, {}));
  request.caller = stream_->caller();
  request.times.deadline_ns = stream_->deadline_ns();
  const GrpcContext& frontend = queue_.frontend;
  if (has_remote_models(frontend.server)) {
    Result<std::optional<RemoteServer>> remote =
        find_remote_server(frontend.server, received_.message().model_name(),
                           metadata_value(stream_->context(), RemoteModels::kLeaseHeader));
    if (!remote.ok()) return refuse_call(remote.status());
    if (*remote) return pass_on(**remote);
  }
  return begin_call({*frontend.server.router, *frontend.server.catalog, frontend.host.registry()},
                    received_.message().model_name(), received_.version(frontend.server));
}

// --- requests that another server answers ---

bool StreamRequest::pass_on(const RemoteServer& server) noexcept {
  V2InferRequest& message = received_.message();
  if (server.grpc.host.empty())
    return refuse_call(unimplemented(messages::remote_without_grpc(message.model_name())));
  if (message.uses_shared_memory())
    return refuse_call(Status(Code::kInvalidArgument, messages::remote_shared_memory(message.model_name())));
  const grpc::ByteBuffer bytes = received_.opened_bytes();
  abandon();
  StreamRequest& passes = stream_->remote_to(*this, server.grpc);
  passes.remote_->write(bytes);
  if (&passes != this) {
    stream_->answered(*this);  // its answers are the other one's
    return true;
  }
  received_.clear();
  memory.release();
  if (std::exchange(holds_, false)) stream_->resume();
  return false;
}

void StreamRequest::begin_remote(const HostPort& server) noexcept {
  remote_address_ = server.text();
  remote_ = std::make_unique<RemoteStream>(
      static_cast<RemoteStreamOwner&>(*this),
      queue_.remote_channels.stub(server, queue_.frontend.host.clock().now_ns()), stream_->context(),
      request.cancellation, *queue_.queue);
}

bool StreamRequest::on_remote_answer(grpc::ByteBuffer* answer) noexcept {
  return stream_->write(*this, answer, false, true) != InferStream::Push::kTooMuch;
}

void StreamRequest::on_remote_backlog() noexcept { stream_->hold(); }
void StreamRequest::on_remote_room() noexcept { stream_->resume(); }

void StreamRequest::on_remote_end(const grpc::Status& status) noexcept {
  const std::shared_ptr<InferStream> held = stream_->shared_from_this();
  stream_->end_remote(remote_address_);
  if (!status.ok()) held->shut_down(static_cast<Code>(status.error_code()), status.error_message());
  held->answered(*this);
  // In a step of its own, from which it is called.
  std::unique_ptr<RemoteStream> ended = std::move(remote_);
  done(kRunPart);
}

// --- waiting ---

void StreamRequest::about_to_wait() noexcept {
  // Those behind it wait too, so that their models get them in their order.
  holds_ = true;
  stream_->hold();
}

void StreamRequest::on_woken(bool) {
  if (resume()) ran();
}

void StreamRequest::ran() noexcept {
  // It keeps the stream until here.
  std::shared_ptr<InferStream> held;
  if (std::exchange(holds_, false)) held = stream_->shared_from_this();
  done(kRunPart);
  if (held != nullptr) held->resume();
}

Result<bool> StreamRequest::parse_request() noexcept {
  decoupled_ = model->info().decoupled;
  ATOLL_RETURN_IF_ERROR(
      reason(received_.message().fill(request, regions, queue_.frontend.settings.copy_limit())));
  return true;
}

Status StreamRequest::read_head() noexcept {
  ATOLL_RETURN_IF_ERROR(
      read_call_metadata(queue_.frontend, MetadataHead(stream_->context()), model->info(), request));
  trace("GRPC_WAITREAD_START", read_start_ns_);
  trace("GRPC_WAITREAD_END", read_end_ns_);
  keep_order();
  return {};
}

void StreamRequest::keep_order() noexcept {
  if (!decoupled_ && !place.keeps_order) stream_->keep_order(*this);
}

void StreamRequest::on_response(Response* response, uint32_t flags) noexcept {
  if (decoupled_) {
    on_decoupled(response, flags);
  } else {
    on_single(response, flags);
  }
}

void StreamRequest::on_single(Response* response, uint32_t flags) noexcept {
  if (!single_.add(*this, response, flags)) return;
  // Clients of a stream get the first one of several, those of a unary call an error.
  uint32_t count = 0;
  if (Response* first = single_.take(&count)) {
    answer(*first, true);
  } else {
    answer_failure(Status(Code::kInternal, messages::not_single_response(count)), true);
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
  if (decoupled_) uncharge_outputs();
  if (!status.ok()) {
    answer_failure(status, last);
  } else if (stream_->write(*this, &message, last, decoupled_) == InferStream::Push::kTooMuch) {
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
  if (stream_->write(*this, &message, last, bounded) == InferStream::Push::kTooMuch) {
    answer_too_slow(last);
  }
}

void StreamRequest::refuse(const Status& status) noexcept {
  keep_order();
  Response* empty = new_response();
  grpc::ByteBuffer message;
  (void)write_stream_message(as_utf8(client_text(status)), {}, {}, request, *empty, &message).ok();
  reclaim(empty);
  (void)stream_->write(*this, &message, true, false);
}

void StreamRequest::answer_too_slow(bool is_last) noexcept {
  too_slow_ = true;
  const GrpcSettings& settings = queue_.frontend.settings;
  answer_failure(make_status(Code::kResourceExhausted, messages::request_prefix(request.id),
                             "the client does not read the responses of model '", model->info().name,
                             "' as fast as they come: more than ", settings.max_response_pool_size,
                             " of them or ", settings.max_stream_backlog_bytes,
                             " bytes would wait to be written; the request was cancelled"),
                 true);
  if (!is_last) cancel();
}

Status StreamRequest::check_output(const OutputTensor&, uint64_t size_bytes) noexcept {
  return check_grpc_output(size_bytes);
}

void StreamRequest::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  InferStream* stream = std::exchange(stream_, nullptr);
  const uint64_t received_bytes = place.received_bytes;
  place = {};
  received_.clear();
  reset_request();
  queue_.stream_requests.give(std::unique_ptr<StreamRequest>(this));
  stream->gone(received_bytes);
}

}  // namespace atl::frontends::grpc_frontend
