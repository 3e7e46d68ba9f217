/// Device memory of other processes, reached through whoever provides memory of its kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "atoll/gpu/device_memory.h"

namespace atl::memory {

/// An open handle, and the hold on the provider that opened it. Move-only; closed when destroyed.
class DeviceMapping {
 public:
  DeviceMapping() noexcept = default;
  DeviceMapping(Followed<Memory>::Hold provider, const Buffer& buffer) noexcept
      : provider_(std::move(provider)), buffer_(buffer) {}
  DeviceMapping(DeviceMapping&&) noexcept = default;
  DeviceMapping& operator=(DeviceMapping&&) = delete;
  DeviceMapping(const DeviceMapping&) = delete;
  DeviceMapping& operator=(const DeviceMapping&) = delete;
  ~DeviceMapping() {
    if (provider_) provider_->close_handle(buffer_);
  }

  const Buffer& buffer() const noexcept { return buffer_; }
  /// Whether its device is still there. Errors: UNAVAILABLE it is lost, and why.
  Status check() const noexcept {
    const int32_t device = buffer_.device_id;
    const std::vector<int32_t> usable = provider_->devices();
    if (std::find(usable.begin(), usable.end(), device) != usable.end()) return {};
    if (provider_.minor() >= Memory::kUsageMinor) {
      if (auto usage = provider_->device_usage(device); !usage.ok()) return std::move(usage).status();
    }
    return unavailable("GPU ", device, " is lost");
  }
  /// The provider is going: it waits for this to be closed.
  bool is_outdated() const noexcept { return provider_.is_outdated(); }

 private:
  Followed<Memory>::Hold provider_;
  Buffer buffer_;
};

}  // namespace atl::memory
