/// The point from which on what a device writes to a buffer is there.
#pragma once

#include "atoll/request/tensor.h"
#include "memory/cuda/devices.h"

namespace atl::memory {

/// An event of the device's, for whoever writes to record. [any]
class BufferEvent final : public DeviceEvent {
 public:
  /// \param devices  outlives this \param event  of acquire_event(), given back by release()
  BufferEvent(Devices& devices, int32_t device, CudaEvent event) noexcept
      : devices_(devices), device_(device), event_(event) {}

  /// That of a lost device is: wait() says what has become of it.
  bool is_reached() noexcept override {
    if (!devices_.ensure_current(device_).ok()) return true;
    const CudaResult result = devices_.driver().cuEventQuery(event_);
    return result != CudaResult::NOT_READY;
  }
  Status wait() noexcept override {
    ATOLL_RETURN_IF_ERROR(devices_.ensure_current(device_));
    return devices_.call<&CudaDriver::cuEventSynchronize>(device_, event_);
  }
  void* native_handle() noexcept override { return event_; }

  void release() noexcept { devices_.release_event(device_, event_); }

 private:
  Devices& devices_;
  const int32_t device_;
  const CudaEvent event_;
};

}  // namespace atl::memory
