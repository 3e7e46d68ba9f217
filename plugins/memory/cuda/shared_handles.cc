#include "memory/cuda/shared_handles.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace atl::memory {
namespace {

std::string_view text_of(std::span<const std::byte> handle) noexcept {
  return {reinterpret_cast<const char*>(handle.data()), handle.size()};
}

Status too_small(uint64_t size_bytes, uint64_t expected_bytes) {
  return make_status(Code::kOutOfRange, "the allocation has ", size_bytes, " bytes, expected ",
                     expected_bytes);
}

}  // namespace

SharedHandles::~SharedHandles() {
  for (const Mapping& mapping : mappings_) unmap(mapping);
}

Status SharedHandles::measure(Mapping& mapping) noexcept {
  CudaAddress base = 0;
  size_t bytes = 0;
  ATOLL_RETURN_IF_ERROR(
      devices_.call<&CudaDriver::cuMemGetAddressRange>(mapping.device, &base, &bytes, mapping.address));
  const uint64_t before = mapping.address - base;
  mapping.size_bytes = before < bytes ? bytes - before : 0;
  return {};
}

Result<SharedHandles::Mapping> SharedHandles::map(int32_t device,
                                                  std::span<const std::byte> handle) noexcept {
  CudaIpcHandle raw;
  std::memcpy(raw.bytes, handle.data(), sizeof raw.bytes);
  Mapping mapping{.device = device, .handle = std::string(text_of(handle))};
  const CudaResult result =
      devices_.driver().cuIpcOpenMemHandle(&mapping.address, raw, kCudaIpcLazyPeerAccess);
  if (result != CudaResult::SUCCESS) {
    Status status = devices_.report(device, "cuIpcOpenMemHandle", result);
    if (result == CudaResult::MAP_FAILED_) return make_status(Code::kResourceExhausted, status.message());
    return cuda_fault(result) == CudaFault::kCall ? invalid_argument(status.message()) : std::move(status);
  }
  if (Status status = measure(mapping); !status.ok()) {
    unmap(mapping);
    return status;
  }
  return mapping;
}

void SharedHandles::unmap(const Mapping& mapping) noexcept {
  if (!devices_.lost(mapping.device).ok()) return;
  devices_.log_failure(devices_.ensure_current(mapping.device));
  devices_.log_failure(devices_.call<&CudaDriver::cuIpcCloseMemHandle>(mapping.device, mapping.address));
}

Result<CudaAddress> SharedHandles::open(int32_t device, std::span<const std::byte> handle,
                                        uint64_t size_bytes) noexcept {
  if (handle.size() != sizeof(CudaIpcHandle)) {
    return invalid_argument("the handle has ", handle.size(), " bytes, expected ", sizeof(CudaIpcHandle));
  }
  ATOLL_RETURN_IF_ERROR(devices_.ensure_current(device));
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
    return mapping.device == device && mapping.handle == text_of(handle);
  });
  if (found != mappings_.end()) {
    if (found->size_bytes < size_bytes) return too_small(found->size_bytes, size_bytes);
    ++found->users;
    return found->address;
  }
  Result<Mapping> made = map(device, handle);
  if (!made.ok()) return std::move(made).status();
  if (made->size_bytes < size_bytes) {
    unmap(*made);
    return too_small(made->size_bytes, size_bytes);
  }
  made->users = 1;
  mappings_.push_back(*made);
  return made->address;
}

void SharedHandles::close(int32_t device, CudaAddress address) noexcept {
  std::lock_guard lock(mutex_);
  // Two handles of one allocation may have one address: which of them ends does not matter, the driver counts too.
  const auto found = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
    return mapping.device == device && mapping.address == address;
  });
  if (found == mappings_.end() || --found->users != 0) return;
  unmap(*found);
  mappings_.erase(found);
}

}  // namespace atl::memory
