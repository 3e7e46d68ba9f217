#include "frontends/grpc/calls/infer_queue.h"

#include "frontends/grpc/calls/infer_call.h"
#include "frontends/grpc/calls/infer_stream.h"
#include "frontends/grpc/calls/stream_request.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// Contexts that wait in a pool at most; more in flight make more, which are freed afterwards.
constexpr size_t kPooledContexts = 256;

}  // namespace

InferQueue::InferQueue(GrpcCallContext& shared, InferenceService& inference_service,
                       std::unique_ptr<grpc::ServerCompletionQueue> completion_queue)
    : frontend(shared),
      service(inference_service),
      queue(std::move(completion_queue)),
      calls(kPooledContexts),
      stream_requests(kPooledContexts),
      remote_channels(shared.server) {}

InferQueue::~InferQueue() = default;

void StreamList::add(std::shared_ptr<InferStream> stream) {
  std::lock_guard lock(mutex_);
  streams_.insert(std::move(stream));
}

void StreamList::remove(InferStream& stream) noexcept {
  std::shared_ptr<InferStream> last = std::static_pointer_cast<InferStream>(stream.shared_from_this());
  std::lock_guard lock(mutex_);
  streams_.erase(last);
}

bool StreamList::empty() const noexcept {
  std::lock_guard lock(mutex_);
  return streams_.empty();
}

void StreamList::end_all(const Status& status) noexcept {
  std::vector<std::shared_ptr<InferStream>> streams;
  {
    std::lock_guard lock(mutex_);
    streams.assign(streams_.begin(), streams_.end());
  }
  for (const auto& stream : streams) stream->shut_down(status.code(), std::string(status.message()));
}

}  // namespace atl::frontends::grpc_frontend
