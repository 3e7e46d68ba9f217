#include "memory/cuda/device_pool.h"

#include <algorithm>
#include <utility>

namespace atl::memory {

DevicePool::~DevicePool() {
  if (pool_ == nullptr || !devices_.lost(device_).ok()) return;
  devices_.log_failure(devices_.ensure_current(device_));
  devices_.log_failure(
      devices_.call<&CudaDriver::cuStreamSynchronize>(device_, stream_));  // frees may be under way
  devices_.log_failure(devices_.call<&CudaDriver::cuMemPoolDestroy>(device_, pool_));
  devices_.release_stream(device_, stream_);
}

Status DevicePool::make_pool() noexcept {
  CudaPoolOptions options;
  options.location = {.type = CudaLocationType::kDevice, .id = device_};
  CudaPool pool = nullptr;
  ATOLL_RETURN_IF_ERROR(devices_.call<&CudaDriver::cuMemPoolCreate>(device_, &pool, &options));
  // Without it the driver would give freed memory back whenever anybody waits for a stream.
  uint64_t kept_bytes = kept_bytes_;
  Status status = devices_.call<&CudaDriver::cuMemPoolSetAttribute>(
      device_, pool, CudaPoolAttribute::kReleaseThreshold, &kept_bytes);
  if (!status.ok()) {
    devices_.log_failure(devices_.call<&CudaDriver::cuMemPoolDestroy>(device_, pool));
    return status;
  }
  pool_ = pool;
  return {};
}

Status DevicePool::open() noexcept {
  std::lock_guard lock(mutex_);
  if (pool_ != nullptr) return devices_.ensure_current(device_);
  Result<CudaStream> stream = devices_.acquire_stream(device_);
  if (!stream.ok()) return std::move(stream).status();
  stream_ = *stream;
  Status status = make_pool();
  if (!status.ok()) devices_.release_stream(device_, *stream);
  return status;
}

Result<CudaAddress> DevicePool::allocate_once(uint64_t bytes) noexcept {
  CudaAddress address = 0;
  ATOLL_RETURN_IF_ERROR(devices_.call<&CudaDriver::cuMemAllocFromPoolAsync>(
      device_, &address, std::max<uint64_t>(bytes, 1), pool_, stream_));
  // Who gets it may use it on any stream, without knowing this one.
  Status status = devices_.call<&CudaDriver::cuStreamSynchronize>(device_, stream_);
  if (status.ok()) return address;
  devices_.log_failure(devices_.call<&CudaDriver::cuMemFreeAsync>(device_, address, stream_));
  return status;
}

Result<CudaAddress> DevicePool::allocate(uint64_t bytes) noexcept {
  ATOLL_RETURN_IF_ERROR(budget_.take(bytes));
  Status status = open();
  if (status.ok()) {
    Result<CudaAddress> address = allocate_once(bytes);
    if (!address.ok() && address.status().code() == Code::kResourceExhausted) {
      devices_.log_failure(devices_.call<&CudaDriver::cuMemPoolTrimTo>(device_, pool_, 0));
      address = allocate_once(bytes);
    }
    if (address.ok()) return address;
    status = std::move(address).status();
  }
  budget_.give_back(bytes);
  return status;
}

void DevicePool::free(CudaAddress address, uint64_t bytes) noexcept {
  budget_.give_back(bytes);
  if (!devices_.lost(device_).ok()) return;  // it went with the device
  devices_.log_failure(devices_.ensure_current(device_));
  devices_.log_failure(devices_.call<&CudaDriver::cuMemFreeAsync>(device_, address, stream_));
}

}  // namespace atl::memory
