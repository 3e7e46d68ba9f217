#include "driver.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>

namespace atl::cuda_double {

Driver& driver() noexcept {
  static Driver& all = *[] {
    auto* made = new Driver;
    // A child that is forked has no threads, and the driver does not work in it.
    pthread_atfork(nullptr, nullptr, [] { driver().is_forked = true; });
    return made;
  }();
  return all;
}

CudaContext& current_context() noexcept {
  thread_local CudaContext current = nullptr;
  return current;
}

bool& is_in_stream() noexcept {
  thread_local bool is_in = false;
  return is_in;
}

CudaResult Driver::next_failure(const char* function) {
  CudaResult code = CudaResult::SUCCESS;
  for (CallFailure& one : call_failures) {
    if (one.function != "*" && one.function != function) continue;
    if (one.nth == 0) {
      code = one.code;
    } else if (--one.nth == 0) {
      code = one.code;
      one.function.clear();
    }
  }
  std::erase_if(call_failures, [](const CallFailure& one) { return one.function.empty(); });
  return code;
}

void Driver::misuse(std::string text) {
  constexpr size_t kMost = 100;
  if (misuses.size() < kMost && std::find(misuses.begin(), misuses.end(), text) == misuses.end())
    misuses.push_back(std::move(text));
}

void Driver::fail_device(Device& device, CudaResult code) {
  if (device.failure == CudaResult::SUCCESS) device.failure = code;
  changed.notify_all();
}

bool Driver::use(Device& device, uint64_t bytes) noexcept {
  const uint64_t limit = std::min(device.about.memory_bytes, device.limit);
  if (device.used > limit || bytes > limit - device.used) return false;
  device.used += bytes;
  return true;
}

CudaResult Call::start(uint32_t needs) {
  Driver& all = driver();
  if (all.is_forked) return CudaResult::NOT_INITIALIZED;
  lock = std::unique_lock(all.mutex);
  if (is_in_stream()) {
    misuse("called by a host function");
    return CudaResult::NOT_PERMITTED;
  }
  if ((needs & kInitialised) != 0 && !all.is_initialised) return CudaResult::NOT_INITIALIZED;
  ++all.calls[function];
  ++all.all_calls;
  if ((needs & kNotInCapture) != 0) {
    for (const std::shared_ptr<Capture>& capture : all.captures) {
      if (capture->device->failure != CudaResult::SUCCESS) continue;
      const bool is_own = capture->thread == std::this_thread::get_id();
      if (capture->mode == CudaCaptureMode::kRelaxed ||
          (capture->mode == CudaCaptureMode::kThreadLocal && !is_own))
        continue;
      capture->is_invalid = true;
      return CudaResult::STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  if ((needs & kCurrentContext) != kCurrentContext) return CudaResult::SUCCESS;
  if (current_context() == nullptr) return CudaResult::INVALID_CONTEXT;
  const auto found = all.contexts.find(current_context());
  if (found == all.contexts.end()) {
    misuse("the thread's context was released");
    return CudaResult::CONTEXT_IS_DESTROYED;
  }
  context = found->second.get();
  return context->device->failure;
}

std::shared_ptr<Stream> Call::find(CudaStream handle) const {
  constexpr uintptr_t kLegacy = 1;
  if (handle == nullptr || reinterpret_cast<uintptr_t>(handle) == kLegacy) return context->legacy;
  auto* found = find_in(*this, driver().streams, handle, "stream");
  return found == nullptr ? nullptr : *found;
}

std::shared_ptr<Event> Call::find(CudaEvent handle) const {
  auto* found = find_in(*this, driver().events, handle, "event");
  return found == nullptr ? nullptr : *found;
}

CudaResult Call::submit(CudaStream handle, Work work, std::vector<PointPtr> after) {
  const std::shared_ptr<Stream> stream = find(handle);
  if (stream == nullptr) return CudaResult::INVALID_HANDLE;
  if (stream->device->failure != CudaResult::SUCCESS) return stream->device->failure;
  if (stream->capture != nullptr) {
    Capture& capture = *stream->capture;
    if (capture.is_invalid) return CudaResult::STREAM_CAPTURE_INVALIDATED;
    stream->covered.insert(capture.nodes.size());
    capture.nodes.push_back(std::move(work));
    return CudaResult::SUCCESS;
  }
  if (stream == context->legacy) {
    for (const std::shared_ptr<Stream>& other : driver().all_streams) {
      if (other->context != context || other->capture == nullptr ||
          (other->flags & kCudaStreamNonBlocking) != 0)
        continue;
      other->capture->is_invalid = true;
      return CudaResult::STREAM_CAPTURE_IMPLICIT;
    }
  }
  driver().enqueue(*stream, std::move(work), std::move(after));
  return CudaResult::SUCCESS;
}

void begin(Driver& all) {
  all.is_initialised = false;
  for (auto& [address, pinned] : all.memory.pinned) {
    if (!pinned.is_registered) std::free(reinterpret_cast<void*>(address));
  }
  for (auto& [address, allocation] : all.memory.allocations) {
    if (allocation.origin == Origin::kOpened) all.memory.space.show_own(address, allocation.bytes);
    if (allocation.announcement != 0) all.memory.space.withdraw(allocation.announcement);
    all.memory.space.give_back(address, allocation.bytes);
  }
  for (auto& [address, mapping] : all.memory.mappings) all.memory.space.show_own(address, mapping.bytes);
  for (auto& [address, reserved] : all.memory.reserved) all.memory.space.give_back(address, reserved.bytes);
  for (auto& [handle, physical] : all.memory.physical)
    all.memory.space.give_back(physical.backing, physical.bytes);
  all.memory.allocations.clear();
  all.memory.mappings.clear();
  all.memory.reserved.clear();
  all.memory.physical.clear();
  all.memory.pinned.clear();
  all.opened.clear();
  all.events.clear();
  all.pools.clear();
  all.modules.clear();
  all.libraries.clear();
  all.kernels.clear();
  all.graphs.clear();
  all.graph_nodes.clear();
  all.graph_execs.clear();
  all.captures.clear();
  all.contexts.clear();
  all.devices.clear();
  all.call_failures.clear();
  all.calls.clear();
  all.all_calls = 0;
  all.hang_event = 0;
  all.slow_copy_ns = 0;
  all.stepped = false;
  all.misuses.clear();
}

void start_over() {
  Driver& all = driver();
  std::unique_lock lock(all.mutex);
  all.stepped = false;
  // Nothing that is left is done any more, but what is being executed ends.
  for (const auto& device : all.devices) all.fail_device(*device, CudaResult::DEINITIALIZED);
  const auto left = all.all_streams;
  for (const std::shared_ptr<Stream>& stream : left) all.close(*stream);
  all.start_threads();
  all.changed.wait(lock, [&all] { return all.threads == 0; });
  all.all_streams.clear();
  all.hanging.clear();
  begin(all);
}

}  // namespace atl::cuda_double
