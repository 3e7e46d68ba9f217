// Streams, events and completion threads of Devices, and their end.
#include <utility>

#include "memory/cuda/devices.h"

namespace atl::memory {
namespace {

/// The last one, or null.
template <class Handle>
Handle take_last(std::mutex& mutex, std::vector<Handle>& handles) noexcept {
  std::lock_guard lock(mutex);
  if (handles.empty()) return nullptr;
  Handle last = handles.back();
  handles.pop_back();
  return last;
}

}  // namespace

/// One event that the completion thread waits for.
struct Devices::Completion {
  Devices& devices;
  int32_t device;
  CudaEvent event;
  CudaDone done;

  static void run(void* argument) noexcept {
    const std::unique_ptr<Completion> self(static_cast<Completion*>(argument));
    Status outcome = self->devices.ensure_current(self->device);
    if (outcome.ok())
      outcome = self->devices.call<&CudaDriver::cuEventSynchronize>(self->device, self->event);
    self->done.run(self->done.argument, std::move(outcome));
  }
  static void drop(void* argument) noexcept {
    const std::unique_ptr<Completion> self(static_cast<Completion*>(argument));
    self->done.run(self->done.argument,
                   unavailable("GPU ", self->device, " is no longer used: memory/cuda ends"));
  }
};

Result<CudaStream> Devices::acquire_stream(int32_t device) noexcept {
  ATOLL_RETURN_IF_ERROR(ensure_current(device));
  Device& found = *find(device);
  CudaStream stream = take_last(found.mutex, found.streams);
  if (stream != nullptr) return stream;
  ATOLL_RETURN_IF_ERROR(
      call<&CudaDriver::cuStreamCreateWithPriority>(device, &stream, kCudaStreamNonBlocking, 0));
  return stream;
}

void Devices::release_stream(int32_t device, CudaStream stream) noexcept {
  Device& found = *find(device);
  std::lock_guard lock(found.mutex);
  found.streams.push_back(stream);
}

Result<CudaEvent> Devices::acquire_event(int32_t device) noexcept {
  ATOLL_RETURN_IF_ERROR(ensure_current(device));
  Device& found = *find(device);
  CudaEvent event = take_last(found.mutex, found.events);
  if (event != nullptr) return event;
  ATOLL_RETURN_IF_ERROR(
      call<&CudaDriver::cuEventCreate>(device, &event, kCudaEventBlockingSync | kCudaEventDisableTiming));
  return event;
}

void Devices::release_event(int32_t device, CudaEvent event) noexcept {
  Device& found = *find(device);
  std::lock_guard lock(found.mutex);
  found.events.push_back(event);
}

Status Devices::post_when_done(int32_t device, CudaEvent event, CudaDone done) noexcept {
  Device* found = find(device);
  if (found == nullptr) return lost(device);
  SerialExecutor* completions = nullptr;
  {
    std::lock_guard lock(found->mutex);
    if (found->completions == nullptr) {
      Result<SerialExecutorPtr> made =
          host_.executors().create(cat("gpu", device, "-done"), ThreadPlacement{});
      if (!made.ok()) return std::move(made).status();
      found->completions = std::move(made).value();
    }
    completions = found->completions.get();
  }
  completions->post(Task{&Completion::run, new Completion{*this, device, event, done}, &Completion::drop});
  return {};
}

void Devices::close() noexcept {
  for (const auto& device : devices_) close(*device);
}

void Devices::close(Device& device) noexcept {
  device.completions.reset();
  if (device.context == nullptr || !lost(device.ordinal).ok()) return;
  log_failure(ensure_current(device.ordinal));
  for (CudaStream stream : std::exchange(device.streams, {}))
    log_failure(call<&CudaDriver::cuStreamDestroy>(device.ordinal, stream));
  for (CudaEvent event : std::exchange(device.events, {}))
    log_failure(call<&CudaDriver::cuEventDestroy>(device.ordinal, event));
  log_failure(call<&CudaDriver::cuCtxSetCurrent>(device.ordinal, nullptr));
  log_failure(call<&CudaDriver::cuDevicePrimaryCtxRelease>(device.ordinal, device.handle));
  device.context = nullptr;
}

}  // namespace atl::memory
