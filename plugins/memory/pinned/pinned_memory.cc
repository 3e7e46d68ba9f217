#include "memory/pinned/pinned_memory.h"

#include <utility>

namespace atl::memory {

Status PinnedMemory::give_back_pool() noexcept {
  if (bytes_ == nullptr || !cuda_->lost(device_).ok())
    return {};  // a lost device has it to the process's end
  ATOLL_RETURN_IF_ERROR(cuda_->ensure_current(device_));
  return cuda_->call<&CudaDriver::cuMemFreeHost>(device_, bytes_);
}

Status PinnedMemory::close() noexcept {
  Status status = give_back_pool();
  bytes_ = nullptr;
  cuda_ = nullptr;
  return status;
}

/// With the lock held.
Status PinnedMemory::make_pool() noexcept {
  if (bytes_ != nullptr) return {};
  if (cuda_ == nullptr)
    return make_status(Code::kResourceExhausted, "pinned CPU memory: no GPU is known yet");
  Status status = cuda_->absence();
  for (const CudaDeviceInfo& info : cuda_->devices()) {
    status = cuda_->ensure_current(info.ordinal);
    if (!status.ok()) continue;
    void* made = nullptr;
    status =
        cuda_->call<&CudaDriver::cuMemHostAlloc>(info.ordinal, &made, slab_.total_bytes(), kCudaHostPortable);
    if (!status.ok()) continue;
    bytes_ = static_cast<char*>(made);
    device_ = info.ordinal;
    return {};
  }
  return make_status(Code::kResourceExhausted, "pinned CPU memory: ", status.message());
}

Result<Buffer> PinnedMemory::allocate(uint64_t size_bytes, int64_t device_id) noexcept {
  if (device_id != 0)
    return invalid_argument("pinned CPU memory of device ", device_id, ": expected device 0");
  std::lock_guard lock(mutex_);
  const auto refused = [&] {
    return make_status(Code::kResourceExhausted, "pinned CPU memory: ", size_bytes, " bytes asked for, ",
                       slab_.used_bytes(), " bytes of the pool of ", slab_.total_bytes(),
                       " bytes are in use");
  };
  if (size_bytes > slab_.total_bytes() || slab_.total_bytes() == 0) return refused();
  ATOLL_RETURN_IF_ERROR(make_pool());
  const std::optional<uint64_t> offset = slab_.take(size_bytes);
  if (!offset) return refused();
  return Buffer{.data = bytes_ + *offset, .size_bytes = size_bytes, .kind = MemoryKind::kCpuPinned};
}

void PinnedMemory::free(const Buffer& buffer) noexcept {
  std::lock_guard lock(mutex_);
  slab_.give_back(static_cast<uint64_t>(static_cast<char*>(buffer.data) - bytes_), buffer.size_bytes);
}

uint64_t PinnedMemory::used_bytes() const noexcept {
  std::lock_guard lock(mutex_);
  return slab_.used_bytes();
}

}  // namespace atl::memory
