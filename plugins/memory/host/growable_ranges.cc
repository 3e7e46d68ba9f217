#include "memory/host/growable_ranges.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace atl::memory {

GrowableRanges::~GrowableRanges() {
  for (const auto& [range, bytes] : most_bytes_) munmap(range, bytes);
}

uint64_t GrowableRanges::page_bytes() noexcept {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t GrowableRanges::whole_pages(uint64_t size_bytes) noexcept {
  return std::max(page_bytes(), (size_bytes + page_bytes() - 1) & ~(page_bytes() - 1));
}

Status GrowableRanges::use(void* range, uint64_t size_bytes) noexcept {
  if (mprotect(range, size_bytes, PROT_READ | PROT_WRITE) == 0) return {};
  return make_status(Code::kResourceExhausted, "CPU memory: the system has no ", size_bytes, " bytes");
}

Result<void*> GrowableRanges::reserve(uint64_t most_bytes, uint64_t size_bytes) noexcept {
  std::lock_guard lock(mutex_);
  if (most_bytes_.size() == kRangesMax) {
    return make_status(Code::kResourceExhausted, "CPU memory: ", kRangesMax,
                       " buffers that grow are in use, the most there may be");
  }
  void* range = mmap(nullptr, most_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    return make_status(Code::kResourceExhausted, "CPU memory: the system has no ", most_bytes,
                       " bytes of addresses");
  }
  if (Status status = use(range, size_bytes); !status.ok()) {
    munmap(range, most_bytes);
    return status;
  }
  most_bytes_.emplace(range, most_bytes);
  return range;
}

uint64_t GrowableRanges::most_bytes(void* range) const noexcept {
  std::lock_guard lock(mutex_);
  return most_bytes_.at(range);
}

void GrowableRanges::release(void* range) noexcept {
  uint64_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    bytes = most_bytes_.extract(range).mapped();
  }
  munmap(range, bytes);  // of gigabytes it takes long
}

}  // namespace atl::memory
