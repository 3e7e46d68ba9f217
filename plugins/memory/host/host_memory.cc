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

Status HostMemory::check(uint64_t size_bytes, int64_t device_id) noexcept {
  if (device_id != 0) {
    return invalid_argument("CPU memory of device ", device_id, ": expected device 0");
  }
  if (size_bytes > kSizeMax) {
    return make_status(Code::kResourceExhausted, "CPU memory: no block of ", size_bytes, " bytes exists");
  }
  return {};
}

Status HostMemory::count(uint64_t size_bytes) noexcept {
  uint64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (limit_bytes_ != 0 && (size_bytes > limit_bytes_ || used > limit_bytes_ - size_bytes)) {
      return make_status(Code::kResourceExhausted, "CPU memory: ", size_bytes, " bytes asked for, ", used,
                         " bytes of the limit of ", limit_bytes_, " bytes are in use");
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + size_bytes, std::memory_order_relaxed));
  return {};
}

Result<Buffer> HostMemory::allocate(uint64_t size_bytes, int64_t device_id) noexcept {
  ATOLL_RETURN_IF_ERROR(check(size_bytes, device_id));
  ATOLL_RETURN_IF_ERROR(count(size_bytes));
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

Result<Buffer> HostMemory::allocate_growable(uint64_t size_bytes, uint64_t most_bytes,
                                             int64_t device_id) noexcept {
  ATOLL_RETURN_IF_ERROR(check(most_bytes, device_id));
  if (size_bytes > most_bytes) {
    return invalid_argument("CPU memory: ", size_bytes, " bytes asked for in a buffer that may grow to ",
                            most_bytes, " bytes");
  }
  const uint64_t used_bytes = GrowableRanges::whole_pages(size_bytes);
  ATOLL_RETURN_IF_ERROR(count(used_bytes));
  Result<void*> range = growable_.reserve(GrowableRanges::whole_pages(most_bytes), used_bytes);
  if (!range.ok()) {
    used_bytes_.fetch_sub(used_bytes, std::memory_order_relaxed);
    return std::move(range).status();
  }
  return Buffer{.data = range.value(), .size_bytes = used_bytes, .kind = MemoryKind::kCpu};
}

Status HostMemory::grow(Buffer& buffer, uint64_t size_bytes) noexcept {
  if (size_bytes <= buffer.size_bytes) return {};
  const uint64_t most_bytes = growable_.most_bytes(buffer.data);
  if (size_bytes > most_bytes) {
    return make_status(Code::kOutOfRange, "CPU memory: ", size_bytes,
                       " bytes asked for in a buffer that may grow to ", most_bytes, " bytes");
  }
  const uint64_t new_bytes = GrowableRanges::whole_pages(size_bytes);
  ATOLL_RETURN_IF_ERROR(count(new_bytes - buffer.size_bytes));
  Status status = GrowableRanges::use(buffer.data, new_bytes);
  if (!status.ok()) {
    used_bytes_.fetch_sub(new_bytes - buffer.size_bytes, std::memory_order_relaxed);
    return status;
  }
  buffer.size_bytes = new_bytes;
  return {};
}

void HostMemory::free_growable(const Buffer& buffer) noexcept {
  growable_.release(buffer.data);
  used_bytes_.fetch_sub(buffer.size_bytes, std::memory_order_relaxed);
}

}  // namespace atl::memory
