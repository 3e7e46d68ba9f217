#include "frontends/grpc_nghttp2/call_thread.h"

#include <string>

#include "frontends/common/access/caller_look.h"
#include "frontends/grpc_nghttp2/infer_call.h"
#include "frontends/grpc_nghttp2/infer_stream.h"

namespace atl::frontends::grpc_nghttp2 {

CallThread::CallThread(GrpcCallContext& shared, ServingThread& worker) noexcept
    : frontend(shared),
      loop(worker.loop()),
      buffers(worker.buffers()),
      clients(shared, worker.loop(), worker.buffers()) {}

CallThread::~CallThread() = default;

void CallerWatch::begin() noexcept {
  if (!is_set()) thread_.loop.set(*this, thread_.loop.now_ns() + kCallerLookNs);
}

void CallerWatch::on_time() noexcept {
  // A stream that ends leaves the list.
  const std::vector<std::shared_ptr<InferStream>> open(thread_.streams.begin(), thread_.streams.end());
  for (const auto& stream : open) stream->look_at_caller();
  if (!thread_.streams.empty()) begin();
}

void LastCallerSweep::begin() noexcept {
  constexpr int64_t kIntervalNs = kNsPerSecond / 2;
  if (!is_set() && !thread_.last_callers.empty())
    thread_.loop.set(*this, thread_.loop.now_ns() + kIntervalNs);
}

void LastCallerSweep::on_time() noexcept {
  thread_.last_callers.sweep(thread_.frontend.host.clock().now_ns());
  begin();
}

void CallThread::end_streams(const Status& status) noexcept {
  // A stream that ends leaves the list.
  const std::vector<std::shared_ptr<InferStream>> open(streams.begin(), streams.end());
  for (const auto& stream : open) stream->shut_down(status.code(), std::string(status.message()));
}

}  // namespace atl::frontends::grpc_nghttp2
