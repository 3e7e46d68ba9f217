#include "memory/cuda/cuda_memory.h"

#include <limits>
#include <utility>

#include "memory/cuda/buffer_event.h"

namespace atl::memory {
namespace {

Buffer device_buffer(CudaAddress address, uint64_t size_bytes, int32_t device) noexcept {
  return {
      .data = to_pointer(address), .size_bytes = size_bytes, .kind = MemoryKind::kGpu, .device_id = device};
}

}  // namespace

CudaMemory::PerDevice::PerDevice(Devices& devices, int32_t ordinal, const CudaMemorySettings& settings)
    : device(ordinal),
      budget(ordinal, settings.limit.of(ordinal)),
      pool(devices, ordinal, settings.kept.of(ordinal), budget),
      growable(devices, ordinal, budget) {}

CudaMemory::CudaMemory(Devices& devices, const CudaMemorySettings& settings)
    : devices_(devices), handles_(devices) {
  for (const CudaDeviceInfo& info : devices.devices())
    per_device_.push_back(std::make_unique<PerDevice>(devices, info.ordinal, settings));
}

CudaMemory::PerDevice* CudaMemory::find(int64_t device_id) const noexcept {
  for (const auto& one : per_device_) {
    if (one->device == device_id) return one.get();
  }
  return nullptr;
}

Status CudaMemory::no_device(int64_t device_id) const noexcept {
  const bool is_ordinal = device_id >= 0 && device_id <= std::numeric_limits<int32_t>::max();
  if (is_ordinal) return devices_.lost(static_cast<int32_t>(device_id));
  return invalid_argument("there is no GPU ", device_id);
}

std::vector<int32_t> CudaMemory::devices() const noexcept {
  std::vector<int32_t> usable;
  for (const auto& one : per_device_) {
    if (devices_.lost(one->device).ok()) usable.push_back(one->device);
  }
  return usable;
}

uint64_t CudaMemory::used_bytes() const noexcept {
  uint64_t bytes = 0;
  for (const auto& one : per_device_) bytes += one->budget.used_bytes();
  return bytes;
}

uint64_t CudaMemory::limit_bytes() const noexcept {
  uint64_t bytes = 0;
  for (const auto& one : per_device_) {
    if (one->budget.limit_bytes() == 0) return 0;
    bytes += one->budget.limit_bytes();
  }
  return bytes;
}

Result<Buffer> CudaMemory::allocate(uint64_t size_bytes, int64_t device_id) noexcept {
  PerDevice* found = find(device_id);
  if (found == nullptr) return no_device(device_id);
  Result<CudaAddress> address = found->pool.allocate(size_bytes);
  if (!address.ok()) return std::move(address).status();
  return device_buffer(*address, size_bytes, found->device);
}

void CudaMemory::free(const Buffer& buffer) noexcept {
  find(buffer.device_id)->pool.free(to_address(buffer.data), buffer.size_bytes);
}

Result<Buffer> CudaMemory::allocate_growable(uint64_t size_bytes, uint64_t most_bytes,
                                             int64_t device_id) noexcept {
  PerDevice* found = find(device_id);
  if (found == nullptr) return no_device(device_id);
  Result<GrowableDeviceMemory::Grown> grown = found->growable.allocate(size_bytes, most_bytes);
  if (!grown.ok()) return std::move(grown).status();
  return device_buffer(grown->address, grown->bytes, found->device);
}

Status CudaMemory::grow(Buffer& buffer, uint64_t size_bytes) noexcept {
  Result<uint64_t> bytes = find(buffer.device_id)->growable.grow(to_address(buffer.data), size_bytes);
  if (!bytes.ok()) return std::move(bytes).status();
  buffer.size_bytes = *bytes;
  return {};
}

void CudaMemory::free_growable(const Buffer& buffer) noexcept {
  find(buffer.device_id)->growable.free(to_address(buffer.data));
}

Result<DeviceMemoryUsage> CudaMemory::device_usage(int64_t device_id) noexcept {
  PerDevice* found = find(device_id);
  if (found == nullptr) return no_device(device_id);
  ATOLL_RETURN_IF_ERROR(devices_.ensure_current(found->device));
  size_t free_bytes = 0, total_bytes = 0;
  ATOLL_RETURN_IF_ERROR(devices_.call<&CudaDriver::cuMemGetInfo>(found->device, &free_bytes, &total_bytes));
  return DeviceMemoryUsage{.total_bytes = total_bytes, .free_bytes = free_bytes};
}

Result<DeviceEvent*> CudaMemory::make_event(int64_t device_id) noexcept {
  PerDevice* found = find(device_id);
  if (found == nullptr) return no_device(device_id);
  Result<CudaEvent> event = devices_.acquire_event(found->device);
  if (!event.ok()) return std::move(event).status();
  return new BufferEvent(devices_, found->device, *event);
}

void CudaMemory::free_event(DeviceEvent* event) noexcept {
  auto* const own = static_cast<BufferEvent*>(event);
  own->release();
  delete own;
}

Result<Buffer> CudaMemory::open_handle(std::span<const std::byte> handle, int64_t device_id,
                                       uint64_t size_bytes) noexcept {
  PerDevice* found = find(device_id);
  if (found == nullptr) return no_device(device_id);
  Result<CudaAddress> address = handles_.open(found->device, handle, size_bytes);
  if (!address.ok()) return std::move(address).status();
  return device_buffer(*address, size_bytes, found->device);
}

void CudaMemory::close_handle(const Buffer& buffer) noexcept {
  handles_.close(buffer.device_id, to_address(buffer.data));
}

Status CudaMemory::copy(const Buffer& to, const Buffer& from) noexcept {
  if (from.size_bytes > to.size_bytes) {
    return internal_error("found a buffer of ", to.size_bytes, " bytes, expected ", from.size_bytes);
  }
  const Buffer& there = to.kind == MemoryKind::kGpu ? to : from;
  if (there.kind != MemoryKind::kGpu) return invalid_argument("none of the buffers is in memory of a GPU");
  for (const Buffer* buffer : {&to, &from}) {
    if (buffer->kind == MemoryKind::kGpu && find(buffer->device_id) == nullptr)
      return no_device(buffer->device_id);
  }
  // An event of a device can be waited for by the stream; any other one, and a failure, only here.
  void* const event = from.ready_after == nullptr ? nullptr : from.ready_after->native_handle();
  if (event == nullptr) ATOLL_RETURN_IF_ERROR(wait_until_ready(from));
  Result<CudaStream> stream = devices_.acquire_stream(there.device_id);
  if (!stream.ok()) return std::move(stream).status();
  Status status;
  if (event != nullptr) {
    status = devices_.call<&CudaDriver::cuStreamWaitEvent>(there.device_id, *stream,
                                                           static_cast<CudaEvent>(event), 0);
  }
  if (status.ok()) status = copy_on(there.device_id, *stream, to, from);
  // Also after a failure: what was begun must not go on when the buffers are somebody else's.
  Status done = devices_.call<&CudaDriver::cuStreamSynchronize>(there.device_id, *stream);
  devices_.release_stream(there.device_id, *stream);
  if (status.ok()) status = std::move(done);
  // The bytes are lost if what filled them failed, which its device may know alone.
  if (status.ok() && event != nullptr) status = wait_until_ready(from);
  return status;
}

Status CudaMemory::copy_on(int32_t device, CudaStream stream, const Buffer& to, const Buffer& from) noexcept {
  if (from.size_bytes == 0) return {};
  const CudaAddress target = to_address(to.data), source = to_address(from.data);
  if (to.kind != from.kind || to.device_id == from.device_id || from.kind != MemoryKind::kGpu) {
    return devices_.call<&CudaDriver::cuMemcpyAsync>(device, target, source, from.size_bytes, stream);
  }
  Result<CudaContext> there = devices_.context(to.device_id);
  if (!there.ok()) return std::move(there).status();
  Result<CudaContext> here = devices_.context(from.device_id);
  if (!here.ok()) return std::move(here).status();
  return devices_.call<&CudaDriver::cuMemcpyPeerAsync>(device, target, *there, source, *here, from.size_bytes,
                                                       stream);
}

}  // namespace atl::memory
