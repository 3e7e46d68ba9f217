#include "memory/host/host_memory.h"

#include <cstdlib>

namespace atl::memory {
namespace {

constexpr uint64_t kAlignment = 64;
/// 64 TiB, half of what a process can address; also keeps the sums below from overflowing.
constexpr uint64_t kSizeMax = uint64_t{1} << 46;

/// What is asked of the C library: a whole number of lines, at least one, so that size 0 has an address too.
constexpr uint64_t block_size(uint64_t size_bytes) noexcept {
  return size_bytes == 0 ? kAlignment : (size_bytes + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

bool HostMemory::reserve(uint64_t size_bytes, uint64_t* used_bytes) noexcept {
  uint64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    *used_bytes = used;
    if (limit_bytes_ != 0 && (size_bytes > limit_bytes_ || used > limit_bytes_ - size_bytes)) return false;
  } while (!used_bytes_.compare_exchange_weak(used, used + size_bytes, std::memory_order_relaxed));
  return true;
}

Result<Buffer> HostMemory::allocate(uint64_t size_bytes, int64_t device_id) noexcept {
  if (device_id != 0) {
    return invalid_argument("CPU memory of device ", device_id, ": expected device 0");
  }
  if (size_bytes > kSizeMax) {
    return make_status(Code::kResourceExhausted, "CPU memory: no block of ", size_bytes, " bytes exists");
  }
  uint64_t used_bytes = 0;
  if (!reserve(size_bytes, &used_bytes)) {
    return make_status(Code::kResourceExhausted, "CPU memory: ", size_bytes, " bytes asked for, ", used_bytes,
                       " bytes of the limit of ", limit_bytes_, " bytes are in use");
  }
  void* data = std::aligned_alloc(kAlignment, block_size(size_bytes));
  if (data == nullptr) {
    used_bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
    return make_status(Code::kResourceExhausted, "CPU memory: the system has no ", size_bytes, " bytes");
  }
  return Buffer{.data = data, .size_bytes = size_bytes, .kind = MemoryKind::kCpu};
}

void HostMemory::free(const Buffer& buffer) noexcept {
  std::free(buffer.data);
  used_bytes_.fetch_sub(buffer.size_bytes, std::memory_order_relaxed);
}

}  // namespace atl::memory
