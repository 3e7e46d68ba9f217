#include "frontends/grpc_nghttp2/stream_request.h"

#include <utility>

#include "frontends/common/grpc/method_list.h"
#include "frontends/grpc_nghttp2/infer_stream.h"
#include "frontends/grpc_nghttp2/remote_infer_stream.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Requests that wait in a thread's pool at most.
constexpr size_t kPooledRequests = 256;

}  // namespace

StreamRequest& StreamRequest::start(CallThread& thread, Stream& stream, Message message,
                                    int64_t read_start_ns, int64_t read_end_ns) {
  std::unique_ptr<StreamRequest> request;
  if (thread.idle_stream_requests.empty()) {
    request = std::make_unique<StreamRequest>(thread);
  } else {
    request = std::move(thread.idle_stream_requests.back());
    thread.idle_stream_requests.pop_back();
  }
  const uint64_t bytes = message.bytes.size();
  request->received_.take(std::move(message));
  request->V2StreamRequest::start(stream, bytes, request->received_.uncounted_bytes(), read_start_ns,
                                  read_end_ns);
  return *request.release();
}

Status StreamRequest::write_message(V2StreamMessage& from, StreamMessage* message) noexcept {
  std::unique_ptr<StreamAnswer> used;
  if (thread_.loop.is_current() && !thread_.idle_stream_answers.empty()) {
    used = std::move(thread_.idle_stream_answers.back());
    thread_.idle_stream_answers.pop_back();
  }
  return message->make(std::move(used)).write(from, static_cast<InferStream&>(*stream_).encoding());
}

std::unique_ptr<V2RemoteStream> StreamRequest::make_remote(const HostPort& server,
                                                           RemoteStreamOwner<StreamMessage>& owner) noexcept {
  const auto& stream = static_cast<const InferStream&>(*stream_);
  return std::make_unique<RemoteInferStream>(
      thread_, owner, server, ClientRequest{kGrpcStreamInferPath, stream.headers(), stream.deadline_ns()},
      infer_.request.cancellation, stream.encoding());
}

void StreamRequest::forward(V2RemoteStream& to) noexcept {
  static_cast<RemoteInferStream&>(to).write(received_.take_opened());
}

void StreamRequest::on_posted() noexcept {
  if (path_.is_waiting()) {
    after_wait();
  } else {
    rest();
  }
}

void StreamRequest::recycle() noexcept {
  received_.clear();
  infer_.reset();
  if (thread_.loop.is_current()) {
    rest();
  } else {
    thread_.loop.post(*this);
  }
}

void StreamRequest::rest() noexcept {
  // The pass goes last: with it the instance may be stopped, and this thread with it.
  Pass pass = std::move(pass_);
  Stream* stream = std::exchange(stream_, nullptr);
  const uint64_t received_bytes = place.received_bytes;
  place = {};
  received_.give_back(thread_.buffers);
  std::unique_ptr<StreamRequest> self(this);
  if (thread_.idle_stream_requests.size() < kPooledRequests) {
    thread_.idle_stream_requests.push_back(std::move(self));
  }
  stream->gone(received_bytes);
}

}  // namespace atl::frontends::grpc_nghttp2
