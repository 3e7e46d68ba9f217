/// Streams, events, host functions.
#include <algorithm>

#include "allocate.h"
#include "driver.h"

namespace atl::cuda_double {
namespace {

/// What a stream captured last may not be asked for before it is a graph.
CudaResult check_not_captured(Stream& stream) {
  if (stream.capture == nullptr) return CudaResult::SUCCESS;
  stream.capture->is_invalid = true;
  return CudaResult::STREAM_CAPTURE_UNSUPPORTED;
}

template <class Body>
CudaResult with_stream(const char* function, CudaStream handle, Body&& body) {
  return enter(function, kCurrentContext, [&](Call& call) {
    const std::shared_ptr<Stream> stream = call.find(handle);
    if (stream == nullptr) return CudaResult::INVALID_HANDLE;
    if (stream->device->failure != CudaResult::SUCCESS) return stream->device->failure;
    return body(call, *stream);
  });
}

template <class Body>
CudaResult with_event(const char* function, CudaEvent handle, Body&& body) {
  return enter(function, kCurrentContext, [&](Call& call) {
    const std::shared_ptr<Event> event = call.find(handle);
    if (event == nullptr) return CudaResult::INVALID_HANDLE;
    const CudaResult failure = event->context->device->failure;
    if (failure != CudaResult::SUCCESS) return failure;
    if (event->capture != nullptr) return CudaResult::CAPTURED_EVENT;
    return body(call, *event);
  });
}

/// Whether the event that is recorded now is the one that shall not be done.
bool is_to_hang() {
  Driver& all = driver();
  return all.hang_event != 0 && --all.hang_event == 0;
}

CudaResult wait_for_captured(Stream& stream, const Event& event) {
  if (stream.capture != nullptr && stream.capture != event.capture) {
    stream.capture->is_invalid = true;
    return event.capture == nullptr ? CudaResult::STREAM_CAPTURE_ISOLATION : CudaResult::STREAM_CAPTURE_MERGE;
  }
  const auto& active = driver().captures;
  if (std::find(active.begin(), active.end(), event.capture) == active.end())
    return CudaResult::CAPTURED_EVENT;
  if (event.capture->is_invalid) return CudaResult::STREAM_CAPTURE_INVALIDATED;
  stream.capture = event.capture;
  stream.covered.insert(event.covered.begin(), event.covered.end());
  return CudaResult::SUCCESS;
}

}  // namespace

namespace api {

CudaResult cuStreamCreateWithPriority(CudaStream* stream, uint32_t flags, int32_t) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    if (stream == nullptr || flags > kCudaStreamNonBlocking) return CudaResult::INVALID_VALUE;
    Driver& all = driver();
    std::shared_ptr<Stream> made = all.make_stream(*call.context, flags);
    *stream = made->handle;
    all.streams.emplace(made->handle, std::move(made));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuStreamDestroy(CudaStream stream) {
  return enter(__func__, kCurrentContext | kGivesBack, [&](Call& call) {
    auto* found = find_in(call, driver().streams, stream, "stream");
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    const std::shared_ptr<Stream> held = *found;
    if (held->device->failure != CudaResult::SUCCESS) return held->device->failure;
    if (held->capture != nullptr) {
      held->capture->is_invalid = true;
      if (held->capture->origin == stream) driver().end(held->capture);
    }
    driver().close(*held);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuStreamSynchronize(CudaStream stream) {
  return with_stream(__func__, stream, [](Call& call, Stream& found) {
    if (const CudaResult result = check_not_captured(found); result != CudaResult::SUCCESS) return result;
    // Another thread may destroy the stream meanwhile.
    const PointPtr last = found.last;
    Device& device = *found.device;
    const CudaResult result = driver().wait(call.lock, last, device);
    if (result == CudaResult::SUCCESS) trim_pools(device);
    return result;
  });
}

CudaResult cuStreamQuery(CudaStream stream) {
  return with_stream(__func__, stream, [](Call&, Stream& found) {
    if (const CudaResult result = check_not_captured(found); result != CudaResult::SUCCESS) return result;
    return found.last == nullptr || found.last->done ? CudaResult::SUCCESS : CudaResult::NOT_READY;
  });
}

CudaResult cuStreamWaitEvent(CudaStream stream, CudaEvent event, uint32_t) {
  return with_stream(__func__, stream, [&](Call& call, Stream& found) {
    const std::shared_ptr<Event> awaited = call.find(event);
    if (awaited == nullptr) return CudaResult::INVALID_HANDLE;
    const CudaResult failure = awaited->context->device->failure;
    if (failure != CudaResult::SUCCESS) return failure;
    if (awaited->capture != nullptr || found.capture != nullptr) {
      if (awaited->capture != nullptr) return wait_for_captured(found, *awaited);
      found.capture->is_invalid = true;
      return CudaResult::STREAM_CAPTURE_ISOLATION;
    }
    if (awaited->point != nullptr) driver().enqueue(found, {}, {awaited->point});
    return CudaResult::SUCCESS;
  });
}

CudaResult cuLaunchHostFunc(CudaStream stream, CudaHostFunction function, void* data) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    if (function == nullptr) return CudaResult::INVALID_VALUE;
    return call.submit(stream, {CudaGraphNodeType::kHost,
                                [=] {
                                  function(data);
                                  return CudaResult::SUCCESS;
                                },
                                {}});
  });
}

CudaResult cuEventCreate(CudaEvent* event, uint32_t flags) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    constexpr uint32_t kKnown = kCudaEventBlockingSync | kCudaEventDisableTiming;
    if (event == nullptr || (flags & ~kKnown) != 0) return CudaResult::INVALID_VALUE;
    auto made = std::make_shared<Event>();
    made->context = call.context;
    made->flags = flags;
    *event = driver().new_handle<CudaEvent>();
    driver().events.emplace(*event, std::move(made));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuEventDestroy(CudaEvent event) {
  return enter(__func__, kCurrentContext | kGivesBack, [&](Call& call) {
    const std::shared_ptr<Event> found = call.find(event);
    if (found == nullptr) return CudaResult::INVALID_HANDLE;
    const CudaResult failure = found->context->device->failure;
    if (failure == CudaResult::SUCCESS) driver().events.erase(event);
    return failure;
  });
}

CudaResult cuEventRecord(CudaEvent event, CudaStream stream) {
  return with_stream(__func__, stream, [&](Call& call, Stream& found) {
    const std::shared_ptr<Event> recorded = call.find(event);
    if (recorded == nullptr) return CudaResult::INVALID_HANDLE;
    if (recorded->context != found.context) {
      call.misuse("event and stream are of two contexts");
      return CudaResult::INVALID_HANDLE;
    }
    if (found.capture != nullptr) {
      if (found.capture->is_invalid) return CudaResult::STREAM_CAPTURE_INVALIDATED;
      recorded->capture = found.capture;
      recorded->covered = found.covered;
      return CudaResult::SUCCESS;
    }
    recorded->capture = nullptr;
    Driver& all = driver();
    recorded->point = all.enqueue(found, {});
    if (is_to_hang()) {
      recorded->point->hangs = true;
      all.hanging.push_back(recorded->point);
    }
    return CudaResult::SUCCESS;
  });
}

CudaResult cuEventQuery(CudaEvent event) {
  return with_event(__func__, event, [](Call&, Event& found) {
    return found.point == nullptr || found.point->done ? CudaResult::SUCCESS : CudaResult::NOT_READY;
  });
}

CudaResult cuEventSynchronize(CudaEvent event) {
  return with_event(__func__, event, [](Call& call, Event& found) {
    const PointPtr point = found.point;
    Device& device = *found.context->device;
    const CudaResult result = driver().wait(call.lock, point, device);
    if (result == CudaResult::SUCCESS) trim_pools(device);
    return result;
  });
}

CudaResult cuEventElapsedTime(float* milliseconds, CudaEvent start, CudaEvent end) {
  return with_event(__func__, start, [&](Call& call, Event& first) {
    const std::shared_ptr<Event> second = call.find(end);
    if (second == nullptr || first.point == nullptr || second->point == nullptr ||
        ((first.flags | second->flags) & kCudaEventDisableTiming) != 0)
      return CudaResult::INVALID_HANDLE;
    if (!first.point->done || !second->point->done) return CudaResult::NOT_READY;
    constexpr float kNsPerMs = 1e6F;
    *milliseconds =
        static_cast<float>(static_cast<int64_t>(second->point->time_ns - first.point->time_ns)) / kNsPerMs;
    return CudaResult::SUCCESS;
  });
}

}  // namespace api
}  // namespace atl::cuda_double
