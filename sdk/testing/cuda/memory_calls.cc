/// Device memory by calls that wait, and pinned memory.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "allocate.h"
#include "driver.h"

namespace atl::cuda_double {
namespace {

/// What is in new memory of a device: never zeros that someone could count on.
constexpr int kPoison = 0xa5;
constexpr uint64_t kPoisonedBytes = 4096;

}  // namespace

CudaAddress take_addresses(uint64_t bytes, uint64_t alignment) {
  Memory& memory = driver().memory;
  const CudaAddress address = memory.space.take(bytes, alignment);
  if (address != 0) std::memset(memory.space.host(address), kPoison, std::min(bytes, kPoisonedBytes));
  return address;
}

void give_back(Driver& all, CudaAddress address) {
  const auto it = all.memory.allocations.find(address);
  Allocation& allocation = it->second;
  if (allocation.announcement != 0) all.memory.space.withdraw(allocation.announcement);
  if (allocation.origin == Origin::kOpened) all.memory.space.show_own(address, allocation.bytes);
  if (allocation.origin == Origin::kAllocated) allocation.device->used -= allocation.bytes;
  if (allocation.origin == Origin::kPool && allocation.pool->destroyed && allocation.pool->used == 0) {
    allocation.device->used -= allocation.pool->reserved;
    allocation.pool->reserved = 0;
  }
  all.memory.space.give_back(address, allocation.bytes);
  all.memory.allocations.erase(it);
}

namespace api {

CudaResult cuMemAlloc(CudaAddress* address, size_t bytes) {
  return enter(__func__, kCurrentContext | kNotInCapture, [&](Call& call) {
    Driver& all = driver();
    if (address == nullptr || bytes == 0) return CudaResult::INVALID_VALUE;
    if (!all.use(call.device(), bytes)) return CudaResult::OUT_OF_MEMORY;
    const CudaAddress taken = take_addresses(bytes, AddressSpace::kPage);
    if (taken == 0) {
      call.device().used -= bytes;
      return CudaResult::OUT_OF_MEMORY;
    }
    Allocation& made = all.memory.allocations[taken];
    made.address = *address = taken;
    made.bytes = bytes;
    made.device = &call.device();
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemFree(CudaAddress address) {
  return enter(__func__, kCurrentContext | kGivesBack | kNotInCapture, [&](Call& call) {
    if (address == 0) return CudaResult::SUCCESS;
    Driver& all = driver();
    Allocation* found = all.memory.find(address);
    if (found == nullptr || found->address != address || found->free_is_ordered ||
        found->origin == Origin::kOpened) {
      call.misuse("this is no allocation, or no longer");
      return CudaResult::INVALID_VALUE;
    }
    // From now on nobody else may use or free it; what streams have to do with it already is waited for.
    found->free_is_ordered = true;
    Device& device = *found->device;
    const auto context = all.contexts.find(device.primary);
    if (context != all.contexts.end()) {
      const std::shared_ptr<Context> held = context->second;
      if (const CudaResult result = all.wait_for_all(call.lock, *held); result != CudaResult::SUCCESS)
        return result;
    }
    if (found->origin == Origin::kPool) found->pool->used -= found->bytes;
    give_back(all, address);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    const Device& device = call.device();
    const uint64_t limit = std::min(device.about.memory_bytes, device.limit);
    *total_bytes = device.about.memory_bytes;
    *free_bytes = limit - std::min(limit, device.used);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemGetAddressRange(CudaAddress* base, size_t* bytes, CudaAddress address) {
  return enter(__func__, kCurrentContext, [&](Call&) {
    const Allocation* found = driver().memory.find(address);
    if (found == nullptr || found->free_is_ordered) return CudaResult::NOT_FOUND;
    if (base != nullptr) *base = found->address;
    if (bytes != nullptr) *bytes = found->bytes;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemHostAlloc(void** address, size_t bytes, uint32_t flags) {
  return enter(__func__, kCurrentContext | kNotInCapture, [&](Call&) {
    if (address == nullptr || bytes == 0 || flags > 7) return CudaResult::INVALID_VALUE;
    const size_t whole = (bytes + AddressSpace::kPage - 1) / AddressSpace::kPage * AddressSpace::kPage;
    *address = std::aligned_alloc(AddressSpace::kPage, whole);
    if (*address == nullptr) return CudaResult::OUT_OF_MEMORY;
    driver().memory.pinned[reinterpret_cast<uint64_t>(*address)] = {bytes, false};
    return CudaResult::SUCCESS;
  });
}

namespace {

CudaResult unpin(const Call& call, void* address, bool is_registered) {
  auto& pinned = driver().memory.pinned;
  const auto it = pinned.find(reinterpret_cast<uint64_t>(address));
  if (it == pinned.end() || it->second.is_registered != is_registered) {
    call.misuse("this is not pinned, or no longer");
    return CudaResult::INVALID_VALUE;
  }
  pinned.erase(it);
  return CudaResult::SUCCESS;
}

}  // namespace

CudaResult cuMemFreeHost(void* address) {
  return enter(__func__, kCurrentContext | kGivesBack | kNotInCapture, [&](Call& call) {
    if (address == nullptr) return CudaResult::SUCCESS;
    if (const CudaResult result = unpin(call, address, false); result != CudaResult::SUCCESS) return result;
    if (const CudaResult result = driver().wait_for_all(call.lock, *call.context);
        result != CudaResult::SUCCESS)
      return result;
    std::free(address);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemHostRegister(void* address, size_t bytes, uint32_t) {
  return enter(__func__, kCurrentContext | kNotInCapture, [&](Call& call) {
    if (address == nullptr || bytes == 0) return CudaResult::INVALID_VALUE;
    auto& pinned = driver().memory.pinned;
    const auto start = reinterpret_cast<uint64_t>(address);
    const auto next = pinned.lower_bound(start);
    const bool overlaps =
        (next != pinned.end() && next->first < start + bytes) ||
        (next != pinned.begin() && std::prev(next)->first + std::prev(next)->second.bytes > start);
    if (overlaps) {
      constexpr auto kAlreadyRegistered = static_cast<CudaResult>(712);
      call.misuse("a part of this is pinned already");
      return kAlreadyRegistered;
    }
    pinned[start] = {bytes, true};
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemHostUnregister(void* address) {
  return enter(__func__, kCurrentContext | kGivesBack | kNotInCapture, [&](Call& call) {
    if (const CudaResult result = unpin(call, address, true); result != CudaResult::SUCCESS) return result;
    return driver().wait_for_all(call.lock, *call.context);
  });
}

}  // namespace api
}  // namespace atl::cuda_double
