#include "memory/cuda/growable_device_memory.h"

#include <algorithm>
#include <utility>

namespace atl::memory {
namespace {

/// \param unit  above 0 \param bytes  at most DeviceBudget::kSizeMax
constexpr uint64_t round_up(uint64_t bytes, uint64_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

CudaAllocationOptions GrowableDeviceMemory::options() const noexcept {
  CudaAllocationOptions options;
  options.location = {.type = CudaLocationType::kDevice, .id = device_};
  return options;
}

Result<uint64_t> GrowableDeviceMemory::granularity() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (granularity_ != 0) return granularity_;
  }
  size_t bytes = 0;
  const CudaAllocationOptions asked = options();
  ATOLL_RETURN_IF_ERROR(devices_.call<&CudaDriver::cuMemGetAllocationGranularity>(device_, &bytes, &asked,
                                                                                  CudaGranularity::kMinimum));
  std::lock_guard lock(mutex_);
  return granularity_ = std::max<uint64_t>(bytes, 1);
}

Status GrowableDeviceMemory::map(CudaAddress address, uint64_t bytes) noexcept {
  const CudaAllocationOptions asked = options();
  CudaAllocation allocation = 0;
  ATOLL_RETURN_IF_ERROR(devices_.call<&CudaDriver::cuMemCreate>(device_, &allocation, bytes, &asked, 0));
  Status mapped = devices_.call<&CudaDriver::cuMemMap>(device_, address, bytes, 0, allocation, 0);
  // What is mapped keeps the memory; it goes when it is unmapped.
  Status released = devices_.call<&CudaDriver::cuMemRelease>(device_, allocation);
  if (!mapped.ok()) return mapped;
  const CudaAccess access = {.location = asked.location, .access = CudaMemoryAccess::kReadWrite};
  if (released.ok())
    released = devices_.call<&CudaDriver::cuMemSetAccess>(device_, address, bytes, &access, 1);
  if (!released.ok()) devices_.log_failure(devices_.call<&CudaDriver::cuMemUnmap>(device_, address, bytes));
  return released;
}

Status GrowableDeviceMemory::extend(Range& range, uint64_t new_bytes) noexcept {
  const uint64_t more_bytes = new_bytes - range.used_bytes;
  ATOLL_RETURN_IF_ERROR(budget_.take(more_bytes));
  Status status = devices_.ensure_current(device_);
  if (status.ok()) status = map(range.address + range.used_bytes, more_bytes);
  if (!status.ok()) {
    budget_.give_back(more_bytes);
    return status;
  }
  range.pieces.push_back(more_bytes);
  range.used_bytes = new_bytes;
  return {};
}

Result<GrowableDeviceMemory::Grown> GrowableDeviceMemory::allocate(uint64_t bytes,
                                                                   uint64_t most_bytes) noexcept {
  if (bytes > most_bytes) {
    return invalid_argument("GPU ", device_, ": ", bytes, " bytes asked for in a buffer that may grow to ",
                            most_bytes, " bytes");
  }
  if (most_bytes > DeviceBudget::kSizeMax) {
    return make_status(Code::kResourceExhausted, "GPU ", device_, ": no buffer of ", most_bytes,
                       " bytes exists");
  }
  if (!devices_.has_virtual_memory(device_))
    return unimplemented("memory of GPU ", device_, " does not grow");
  ATOLL_RETURN_IF_ERROR(devices_.ensure_current(device_));
  Result<uint64_t> unit = granularity();
  if (!unit.ok()) return std::move(unit).status();
  Range range;
  range.most_bytes = most_bytes;
  range.reserved_bytes = std::max(*unit, round_up(most_bytes, *unit));
  ATOLL_RETURN_IF_ERROR(devices_.call<&CudaDriver::cuMemAddressReserve>(
      device_, &range.address, range.reserved_bytes, 0, CudaAddress{0}, 0));
  Status status = extend(range, std::max(*unit, round_up(bytes, *unit)));
  if (!status.ok()) {
    release(range);
    return status;
  }
  const Grown grown{.address = range.address, .bytes = range.used_bytes};
  std::lock_guard lock(mutex_);
  ranges_.emplace(range.address, std::move(range));
  return grown;
}

Result<uint64_t> GrowableDeviceMemory::grow(CudaAddress address, uint64_t bytes) noexcept {
  Range* range = nullptr;
  uint64_t unit = 0;
  {
    std::lock_guard lock(mutex_);
    range = &ranges_.at(address);
    unit = granularity_;
  }
  if (bytes > range->most_bytes) {
    return make_status(Code::kOutOfRange, "GPU ", device_, ": ", bytes,
                       " bytes asked for in a buffer that may grow to ", range->most_bytes, " bytes");
  }
  if (bytes <= range->used_bytes) return range->used_bytes;
  ATOLL_RETURN_IF_ERROR(extend(*range, round_up(bytes, unit)));
  return range->used_bytes;
}

void GrowableDeviceMemory::release(const Range& range) noexcept {
  if (!devices_.lost(device_).ok()) return;
  devices_.log_failure(devices_.ensure_current(device_));
  CudaAddress address = range.address;
  for (const uint64_t bytes : range.pieces) {
    devices_.log_failure(devices_.call<&CudaDriver::cuMemUnmap>(device_, address, bytes));
    address += bytes;
  }
  devices_.log_failure(
      devices_.call<&CudaDriver::cuMemAddressFree>(device_, range.address, range.reserved_bytes));
}

void GrowableDeviceMemory::free(CudaAddress address) noexcept {
  Range range;
  {
    std::lock_guard lock(mutex_);
    range = std::move(ranges_.extract(address).mapped());
  }
  budget_.give_back(range.used_bytes);
  release(range);
}

}  // namespace atl::memory
