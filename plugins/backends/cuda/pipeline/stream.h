/// Streams and events of one device, given back at their end.
#pragma once

#include <cstdint>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/gpu/cuda.h"
#include "atoll/request/tensor.h"

namespace atl::cuda_backend {

/// For who gives something back, and must not leave it: ensure_current(), again after a failure that does not last.
bool make_current(Cuda& cuda, int32_t device) noexcept;

/// An event with the time at which it was reached. Move-only; nobody waits for it when it ends.
class TimedEvent {
 public:
  TimedEvent() noexcept = default;
  TimedEvent(TimedEvent&& other) noexcept { *this = std::move(other); }
  TimedEvent& operator=(TimedEvent&& other) noexcept {
    std::swap(cuda_, other.cuda_);
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~TimedEvent();

  /// \param spins  who waits for it does so with the CPU
  /// Errors: as Cuda::report().
  static Result<TimedEvent> make(Cuda& cuda, int32_t device, bool spins) noexcept;

  CudaEvent handle() const noexcept { return event_; }
  /// Errors: as Cuda::report().
  Result<int64_t> nanoseconds_until(const TimedEvent& later) const noexcept;

 private:
  Cuda* cuda_ = nullptr;
  int32_t device_ = 0;
  CudaEvent event_ = nullptr;
};

/// A stream of an instance. Move-only. The device has to be current on the calling thread.
class Stream {
 public:
  Stream() noexcept = default;
  Stream(Stream&& other) noexcept { *this = std::move(other); }
  Stream& operator=(Stream&& other) noexcept {
    std::swap(cuda_, other.cuda_);
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream();

  /// \param priority  lower is served first; what the device does not have is its next one
  /// Errors: as Cuda::report().
  static Result<Stream> make(Cuda& cuda, int32_t device, int32_t priority) noexcept;

  explicit operator bool() const noexcept { return stream_ != nullptr; }
  CudaStream handle() const noexcept { return stream_; }
  Cuda& cuda() const noexcept { return *cuda_; }
  int32_t device() const noexcept { return device_; }

  /// All of them: errors as Cuda::report().
  Status record(const TimedEvent& event) const noexcept { return record(event.handle()); }
  Status record(CudaEvent event) const noexcept;
  Status wait_for(CudaEvent event) const noexcept;
  /// Copies between any two buffers, of which one at least is on a device; `to` is as large as `from`. What `from` is ready
  /// after is not looked at.
  Status copy(const Buffer& to, const Buffer& from) const noexcept;
  /// Lets what comes later wait until the buffer is ready; blocks only where its event is not one of a device's.
  /// Errors: also those of DeviceEvent::wait().
  Status wait_until_ready(const Buffer& buffer) const noexcept;
  /// Returns when nothing of the stream is being done any more: at once where the device is lost. A failure that does not
  /// last is no reason to go on while the device still writes, so it is tried again.
  Status synchronize() const noexcept;

 private:
  Cuda* cuda_ = nullptr;
  int32_t device_ = 0;
  CudaStream stream_ = nullptr;
};

}  // namespace atl::cuda_backend
