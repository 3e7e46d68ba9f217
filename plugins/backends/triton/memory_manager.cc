#include "backends/triton/memory_manager.h"

#include <cstdlib>
#include <exception>
#include <utility>

namespace atl::triton {
namespace {

/// The texts of the reference server.
Status unsupported(MemoryKind kind) {
  return unimplemented(kind == MemoryKind::kCpuPinned ? "Pinned memory allocation not supported"
                                                      : "GPU memory allocation not supported");
}

Status not_given() {
  return invalid_argument("memory is freed that was not allocated here, or was freed before");
}

Status no_room(uint64_t size_bytes) {
  return unavailable("failed to allocate ", size_bytes, " bytes of CPU memory");
}

}  // namespace

BackendMemory::~BackendMemory() {
  close();
  for (void* data : heap_) std::free(data);
}

Status BackendMemory::open(Host& host) noexcept {
  for (const MemoryKind kind : {MemoryKind::kCpuPinned, MemoryKind::kGpu}) {
    const uint32_t minor = kind == MemoryKind::kGpu ? Memory::kDevicesMinor : 0;
    auto& provider = kind_of(kind).provider;
    provider.emplace(host, [&host, kind, minor] { return memory_of(host.registry(), kind, minor); });
    ATOLL_RETURN_IF_ERROR(provider->open());
  }
  std::lock_guard lock(mutex_);
  is_open_ = true;
  return {};
}

void BackendMemory::close() noexcept {
  for (Kind* kind : {&pinned_, &gpu_}) {
    std::unordered_map<void*, Given> given;
    {
      std::lock_guard lock(mutex_);
      is_open_ = false;
      given.swap(kind->given);
    }
    for (auto& [data, one] : given) one.provider->free(one.buffer);
    given.clear();
    if (kind->provider) kind->provider->close();
  }
}

Result<void*> BackendMemory::allocate_elsewhere(Kind& kind, int64_t device_id, uint64_t size_bytes) noexcept {
  auto provider = kind.provider ? kind.provider->hold() : Followed<Memory>::Hold();
  if (!provider) return unsupported(&kind == &gpu_ ? MemoryKind::kGpu : MemoryKind::kCpuPinned);
  Result<Buffer> buffer = provider->allocate(size_bytes, device_id);
  if (!buffer.ok()) {
    const bool is_full = buffer.status().code() == Code::kResourceExhausted;
    return is_full ? unavailable(buffer.status().message()) : std::move(buffer).status();
  }
  try {
    std::lock_guard lock(mutex_);
    if (is_open_) {
      Given& one = kind.given.try_emplace(buffer->data).first->second;
      one = {*buffer, std::move(provider)};
      return buffer->data;
    }
  } catch (const std::exception&) {  // given back below
  }
  provider->free(*buffer);
  return no_room(size_bytes);
}

Result<void*> BackendMemory::allocate(MemoryKind kind, int64_t device_id, uint64_t size_bytes) noexcept {
  if (kind != MemoryKind::kCpu) return allocate_elsewhere(kind_of(kind), device_id, size_bytes);
  // Of no bytes too, so that every allocation has an address of its own.
  void* data = std::malloc(size_bytes == 0 ? 1 : size_bytes);
  if (data == nullptr) return no_room(size_bytes);
  try {
    std::lock_guard lock(mutex_);
    heap_.insert(data);
  } catch (const std::exception&) {
    std::free(data);
    return no_room(size_bytes);
  }
  return data;
}

Status BackendMemory::free_elsewhere(Kind& kind, void* data, int64_t device_id) noexcept {
  Given one;
  {
    std::lock_guard lock(mutex_);
    const auto found = kind.given.find(data);
    const bool is_other_device =
        found != kind.given.end() && &kind == &gpu_ && found->second.buffer.device_id != device_id;
    if (found == kind.given.end() || is_other_device) return not_given();
    one = std::move(found->second);
    kind.given.erase(found);
  }
  one.provider->free(one.buffer);
  return {};
}

Status BackendMemory::free(void* data, MemoryKind kind, int64_t device_id) noexcept {
  if (kind != MemoryKind::kCpu) return free_elsewhere(kind_of(kind), data, device_id);
  {
    std::lock_guard lock(mutex_);
    if (heap_.erase(data) == 0) return not_given();
  }
  std::free(data);
  return {};
}

}  // namespace atl::triton
