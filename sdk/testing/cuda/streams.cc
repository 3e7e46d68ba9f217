#include "streams.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "driver.h"
#include "launch.h"

namespace atl::cuda_double {
namespace {

constexpr std::chrono::seconds kLongWait{20};

uint64_t now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

bool is_done(const PointPtr& point) noexcept { return point->done; }

}  // namespace

CudaResult Work::execute() const {
  if (launch != nullptr) return run_kernel(*launch);
  return run ? run() : CudaResult::SUCCESS;
}

std::shared_ptr<Stream> Driver::make_stream(Context& context, uint32_t flags) {
  auto stream = std::make_shared<Stream>();
  stream->handle = new_handle<CudaStream>();
  stream->context = &context;
  stream->device = context.device;
  stream->flags = flags;
  all_streams.push_back(stream);
  return stream;
}

void Driver::close(Stream& stream) {
  stream.is_closed = true;
  stream.context = nullptr;
  streams.erase(stream.handle);
  forget_closed();
  changed.notify_all();
}

void Driver::end(std::shared_ptr<Capture> capture) {
  for (const std::shared_ptr<Stream>& stream : all_streams) {
    if (stream->capture != capture) continue;
    stream->capture = nullptr;
    stream->covered.clear();
  }
  std::erase(captures, capture);
}

void Driver::forget_closed() {
  std::erase_if(all_streams, [](const std::shared_ptr<Stream>& stream) {
    return stream->is_closed && stream->queue.empty() && !stream->is_running;
  });
}

PointPtr Driver::enqueue(Stream& stream, Work work, std::vector<PointPtr> after) {
  const bool is_legacy = &stream == stream.context->legacy.get();
  const bool is_blocking = (stream.flags & kCudaStreamNonBlocking) == 0;
  if (is_legacy) {
    for (const std::shared_ptr<Stream>& other : all_streams) {
      if (other->context == stream.context && (other->flags & kCudaStreamNonBlocking) == 0 &&
          other->last != nullptr)
        after.push_back(other->last);
    }
  } else if (is_blocking && stream.context->legacy->last != nullptr) {
    after.push_back(stream.context->legacy->last);
  }
  std::erase_if(after, is_done);
  auto point = std::make_shared<Point>();
  // What the stream has itself is before it anyway.
  std::erase(after, stream.last);
  stream.queue.push_back({std::move(work), point, std::move(after)});
  stream.last = point;
  if (!stepped) start_thread(stream);
  changed.notify_all();
  return point;
}

bool Driver::may_run(const Stream& stream) noexcept {
  if (stream.queue.empty() || stream.is_running) return false;
  if (stream.device->failure != CudaResult::SUCCESS) return true;
  const Operation& next = stream.queue.front();
  return !next.point->hangs && std::all_of(next.after.begin(), next.after.end(), is_done);
}

void Driver::run_next(std::unique_lock<std::mutex>& lock, Stream& stream) {
  Operation next = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.is_running = true;
  Device& device = *stream.device;
  if (device.failure == CudaResult::SUCCESS) {
    CudaResult result = device.fails_with;
    if (++device.operations != device.fails_at) {
      next.point->is_running = true;
      lock.unlock();
      is_in_stream() = true;
      result = next.work.execute();
      next.work = {};
      is_in_stream() = false;
      lock.lock();
    }
    if (result != CudaResult::SUCCESS) fail_device(device, result);
  }
  next.point->is_running = false;
  next.point->done = true;
  next.point->time_ns = now_ns();
  stream.is_running = false;
  forget_closed();
  changed.notify_all();
}

void Driver::start_thread(Stream& stream) {
  if (stream.has_thread) return;
  stream.has_thread = true;
  ++threads;
  std::thread([this, shared = stream.shared_from_this()] { serve(shared); }).detach();
}

void Driver::start_threads() {
  for (const std::shared_ptr<Stream>& stream : all_streams) start_thread(*stream);
}

void Driver::serve(const std::shared_ptr<Stream>& stream) {
  std::unique_lock lock(mutex);
  while (true) {
    if (!stepped && may_run(*stream)) {
      run_next(lock, *stream);
    } else if (stream->is_closed && stream->queue.empty()) {
      break;
    } else {
      changed.wait(lock);
    }
  }
  --threads;
  changed.notify_all();
}

bool Driver::step(std::unique_lock<std::mutex>& lock) {
  for (size_t i = 0; i < all_streams.size(); ++i) {
    if (!may_run(*all_streams[i])) continue;
    const std::shared_ptr<Stream> stream = all_streams[i];
    run_next(lock, *stream);
    return true;
  }
  return false;
}

std::string Driver::waiting() const {
  std::string text;
  for (const std::shared_ptr<Stream>& stream : all_streams) {
    if (stream->queue.empty()) continue;
    const Operation& next = stream->queue.front();
    char line[160];
    std::snprintf(line, sizeof(line), "  stream %p: %zu operations, the first %s\n",
                  static_cast<void*>(stream->handle), stream->queue.size(),
                  next.point->hangs                                            ? "hangs"
                  : std::all_of(next.after.begin(), next.after.end(), is_done) ? "may run"
                                                                               : "waits for another stream");
    text += line;
  }
  return text;
}

CudaResult Driver::wait(std::unique_lock<std::mutex>& lock, const PointPtr& point, const Device& device) {
  bool is_told = false;
  // What is being executed ends first, so that nobody writes to memory of the CPU when the call has failed.
  while (point != nullptr && !point->done && (device.failure == CudaResult::SUCCESS || point->is_running)) {
    // The system's clock: other waits with a limit are not known to all thread sanitizers.
    const auto limit = std::chrono::system_clock::now() + kLongWait;
    if (changed.wait_until(lock, limit) == std::cv_status::no_timeout || is_told || point->done) continue;
    is_told = true;
    std::fprintf(stderr, "CUDA double: a call waits for long\n%s", waiting().c_str());
  }
  return device.failure;
}

CudaResult Driver::wait_for_all(std::unique_lock<std::mutex>& lock, const Context& context) {
  const Device& device = *context.device;
  std::vector<PointPtr> points;
  for (const std::shared_ptr<Stream>& stream : all_streams) {
    if (stream->device == &device && stream->last != nullptr) points.push_back(stream->last);
  }
  for (const PointPtr& point : points) wait(lock, point, device);
  return device.failure;
}

}  // namespace atl::cuda_double
