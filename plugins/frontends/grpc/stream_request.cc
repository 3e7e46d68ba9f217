#include "frontends/grpc/stream_request.h"

#include <utility>

#include "frontends/common/management/remote_server.h"
#include "frontends/common/wire_messages.h"
#include "frontends/grpc/infer_stream.h"
#include "frontends/grpc/message_buffer.h"

namespace atl::frontends::grpc_frontend {

StreamRequest::StreamRequest(InferQueue& queue) : V2StreamRequest(queue.frontend), queue_(queue) {}

StreamRequest& StreamRequest::start(InferStream& stream, grpc::ByteBuffer* received, int64_t read_start_ns,
                                    int64_t read_end_ns) {
  InferQueue& queue = stream.queue();
  std::unique_ptr<StreamRequest> context = queue.stream_requests.take();
  if (context == nullptr) context = std::make_unique<StreamRequest>(queue);
  const uint64_t bytes = received->Length();
  context->received_.bytes().Swap(received);
  context->V2StreamRequest::start(stream, bytes, bytes, read_start_ns, read_end_ns);
  return *context.release();
}

InferStream& StreamRequest::stream() noexcept { return static_cast<InferStream&>(*stream_); }

Status StreamRequest::write_message(V2StreamMessage& from, grpc::ByteBuffer* message) noexcept {
  grpc_slice head = grpc_slice_malloc(from.head_bytes());
  grpc::ByteBuffer written = to_buffer(head, from.write(GRPC_SLICE_START_PTR(head)));
  message->Swap(&written);
  return {};
}

// --- requests that another server answers ---

std::optional<bool> StreamRequest::pass_on() noexcept {
  Result<std::optional<RemoteServer>> remote =
      find_remote_server(queue_.frontend.server, received_.message().model_name(),
                         stream().metadata()->first(RemoteModels::kLeaseHeader));
  if (!remote.ok()) return refuse_call(remote.status());
  if (!*remote) return {};
  return pass_on(**remote);
}

bool StreamRequest::pass_on(const RemoteServer& server) noexcept {
  V2InferRequest& message = received_.message();
  if (server.grpc.host.empty())
    return refuse_call(unimplemented(messages::remote_without_grpc(message.model_name())));
  if (message.uses_shared_memory())
    return refuse_call(Status(Code::kInvalidArgument, messages::remote_shared_memory(message.model_name())));
  const grpc::ByteBuffer bytes = received_.opened_bytes();
  abandon();
  StreamRequest& passes = stream().remote_to(*this, server.grpc);
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
      queue_.remote_channels.stub(server, queue_.frontend.host.clock().now_ns()), stream().context(),
      request.cancellation, *queue_.queue);
}

bool StreamRequest::on_remote_answer(grpc::ByteBuffer* answer) noexcept {
  return stream_->write(*this, answer, false, true) != Stream::Push::kTooMuch;
}

void StreamRequest::on_remote_backlog() noexcept { stream_->hold(); }
void StreamRequest::on_remote_room() noexcept { stream_->resume(); }

void StreamRequest::on_remote_end(const grpc::Status& status) noexcept {
  const std::shared_ptr<Stream> held = stream_->shared_from_this();
  stream().end_remote(remote_address_);
  if (!status.ok()) held->shut_down(static_cast<Code>(status.error_code()), status.error_message());
  held->answered(*this);
  // In a step of its own, from which it is called.
  std::unique_ptr<RemoteStream> ended = std::move(remote_);
  done(kRunPart);
}

void StreamRequest::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  Stream* stream = std::exchange(stream_, nullptr);
  const uint64_t received_bytes = place.received_bytes;
  place = {};
  received_.clear();
  reset_request();
  queue_.stream_requests.give(std::unique_ptr<StreamRequest>(this));
  stream->gone(received_bytes);
}

}  // namespace atl::frontends::grpc_frontend
