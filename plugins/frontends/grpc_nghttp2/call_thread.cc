#include "frontends/grpc_nghttp2/call_thread.h"

#include <string>

#include "frontends/grpc_nghttp2/infer_call.h"
#include "frontends/grpc_nghttp2/infer_stream.h"

namespace atl::frontends::grpc_nghttp2 {

CallThread::CallThread(GrpcCallContext& shared, ServingThread& worker) noexcept
    : frontend(shared),
      loop(worker.loop()),
      buffers(worker.buffers()),
      clients(shared, worker.loop(), worker.buffers()) {}

CallThread::~CallThread() = default;

void CallThread::end_streams(const Status& status) noexcept {
  // A stream that ends leaves the list.
  const std::vector<std::shared_ptr<InferStream>> open(streams.begin(), streams.end());
  for (const auto& stream : open) stream->shut_down(status.code(), std::string(status.message()));
}

}  // namespace atl::frontends::grpc_nghttp2
