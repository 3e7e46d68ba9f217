#include "frontends/grpc/calls/stream_request.h"

#include <utility>

#include "frontends/grpc/calls/infer_stream.h"
#include "frontends/grpc/calls/message_buffer.h"
#include "frontends/grpc/calls/remote_stream.h"

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

std::unique_ptr<V2RemoteStream> StreamRequest::make_remote(
    const HostPort& server, RemoteStreamOwner<grpc::ByteBuffer>& owner) noexcept {
  return std::make_unique<RemoteStream>(
      owner, queue_.remote_channels.stub(server, queue_.frontend.host.clock().now_ns()), stream().context(),
      infer_.request.cancellation, *queue_.queue);
}

void StreamRequest::forward(V2RemoteStream& to) noexcept {
  static_cast<RemoteStream&>(to).write(received_.opened_bytes());
}

void StreamRequest::recycle() noexcept {
  // The pass goes last: with it the instance may be stopped, and the queue with it.
  Pass pass = std::move(pass_);
  Stream* stream = std::exchange(stream_, nullptr);
  const uint64_t received_bytes = place.received_bytes;
  place = {};
  received_.clear();
  infer_.reset();
  queue_.stream_requests.give(std::unique_ptr<StreamRequest>(this));
  stream->gone(received_bytes);
}

}  // namespace atl::frontends::grpc_frontend
