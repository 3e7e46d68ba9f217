#include "backends/triton/memory_manager.h"

#include <cstdlib>
#include <exception>

namespace atl::triton {
namespace {

/// The texts of the reference server.
Status unsupported(MemoryKind kind) {
  return unimplemented(kind == MemoryKind::kCpuPinned ? "Pinned memory allocation not supported"
                                                      : "GPU memory allocation not supported");
}

}  // namespace

HeapMemory::~HeapMemory() {
  for (void* data : given_) std::free(data);
}

Result<void*> HeapMemory::allocate(MemoryKind kind, int64_t /*device_id*/, uint64_t size_bytes) noexcept {
  if (kind != MemoryKind::kCpu) return unsupported(kind);
  // Of no bytes too, so that every allocation has an address of its own.
  void* data = std::malloc(size_bytes == 0 ? 1 : size_bytes);
  if (data == nullptr) return unavailable("failed to allocate ", size_bytes, " bytes of CPU memory");
  try {
    std::lock_guard lock(mutex_);
    given_.insert(data);
  } catch (const std::exception&) {
    std::free(data);
    return unavailable("failed to allocate ", size_bytes, " bytes of CPU memory");
  }
  return data;
}

Status HeapMemory::free(void* data, MemoryKind kind, int64_t /*device_id*/) noexcept {
  if (kind != MemoryKind::kCpu) return unsupported(kind);
  {
    std::lock_guard lock(mutex_);
    if (given_.erase(data) == 0) {
      return invalid_argument("memory is freed that was not allocated here, or was freed before");
    }
  }
  std::free(data);
  return {};
}

}  // namespace atl::triton
