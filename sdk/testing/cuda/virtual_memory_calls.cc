/// Addresses without memory, memory without addresses, and how one is put behind the other.
#include <algorithm>

#include "allocate.h"
#include "driver.h"

namespace atl::cuda_double {
namespace {

constexpr uint64_t kGranularity = AddressSpace::kGranularity;

bool is_whole(uint64_t value) { return value % kGranularity == 0; }

bool is_on_device(const CudaAllocationOptions* options) {
  return options != nullptr && options->type == CudaAllocationType::kPinned &&
         options->location.type == CudaLocationType::kDevice &&
         static_cast<size_t>(options->location.id) < driver().devices.size();
}

/// Memory without a handle goes with its last mapping.
void drop(Driver& all, CudaAllocation handle) {
  const auto it = all.memory.physical.find(handle);
  if (!it->second.released || it->second.mappings != 0) return;
  it->second.device->used -= it->second.bytes;
  all.memory.space.give_back(it->second.backing, it->second.bytes);
  all.memory.physical.erase(it);
}

/// The reserved range that these addresses are in.
bool is_reserved(Memory& memory, CudaAddress address, uint64_t bytes) {
  auto it = memory.reserved.upper_bound(address);
  if (it == memory.reserved.begin()) return false;
  --it;
  const uint64_t offset = address - it->first;
  return offset < it->second.bytes && bytes <= it->second.bytes - offset;
}

/// Calls body with each mapping; they have to be whole and without gaps. \return false: they are not
template <class Body>
bool for_mappings(Memory& memory, CudaAddress address, uint64_t bytes, Body&& body) {
  const CudaAddress end = address + bytes;
  while (address < end) {
    const auto it = memory.mappings.find(address);
    if (it == memory.mappings.end() || it->second.bytes > end - address) return false;
    address += it->second.bytes;
    body(it);
  }
  return true;
}

bool overlaps_mapping(Memory& memory, CudaAddress address, uint64_t bytes) {
  const auto next = memory.mappings.lower_bound(address);
  if (next != memory.mappings.end() && next->first < address + bytes) return true;
  return next != memory.mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address;
}

void nothing(std::map<CudaAddress, Mapping>::iterator) {}

}  // namespace

namespace api {

CudaResult cuMemGetAllocationGranularity(size_t* bytes, const CudaAllocationOptions* options,
                                         CudaGranularity) {
  return enter(__func__, kInitialised, [&](Call&) {
    if (!is_on_device(options)) return CudaResult::INVALID_VALUE;
    *bytes = kGranularity;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemAddressReserve(CudaAddress* address, size_t bytes, size_t alignment, CudaAddress,
                               unsigned long long flags) {
  return enter(__func__, kInitialised, [&](Call&) {
    if (bytes == 0 || !is_whole(bytes) || flags != 0) return CudaResult::INVALID_VALUE;
    const bool is_power = (alignment & (alignment - 1)) == 0;
    if (!is_power) return CudaResult::INVALID_VALUE;
    *address = driver().memory.space.take(bytes, std::max<uint64_t>(alignment, kGranularity));
    if (*address == 0) return CudaResult::OUT_OF_MEMORY;
    driver().memory.reserved[*address] = {bytes};
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemAddressFree(CudaAddress address, size_t bytes) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    Memory& memory = driver().memory;
    const auto it = memory.reserved.find(address);
    if (it == memory.reserved.end() || it->second.bytes != bytes ||
        overlaps_mapping(memory, address, bytes)) {
      call.misuse("these addresses are not reserved, not all of them, or still mapped");
      return CudaResult::INVALID_VALUE;
    }
    memory.reserved.erase(it);
    memory.space.give_back(address, bytes);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemCreate(CudaAllocation* allocation, size_t bytes, const CudaAllocationOptions* options,
                       unsigned long long flags) {
  return enter(__func__, kInitialised, [&](Call&) {
    Driver& all = driver();
    if (bytes == 0 || !is_whole(bytes) || flags != 0 || !is_on_device(options))
      return CudaResult::INVALID_VALUE;
    Device& device = *all.devices[static_cast<size_t>(options->location.id)];
    if (device.failure != CudaResult::SUCCESS) return device.failure;
    if (!all.use(device, bytes)) return CudaResult::OUT_OF_MEMORY;
    const CudaAddress backing = take_addresses(bytes, kGranularity);
    if (backing == 0) {
      device.used -= bytes;
      return CudaResult::OUT_OF_MEMORY;
    }
    *allocation = all.new_handle<CudaAllocation>();
    all.memory.physical[*allocation] = {backing, bytes, &device, 0, false};
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemRelease(CudaAllocation allocation) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    Physical* found = find_in(call, driver().memory.physical, allocation, "allocation");
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    if (found->device->failure != CudaResult::SUCCESS) return found->device->failure;
    if (found->released) {
      call.misuse("the allocation was released before");
      return CudaResult::INVALID_VALUE;
    }
    found->released = true;
    drop(driver(), allocation);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemMap(CudaAddress address, size_t bytes, size_t offset, CudaAllocation allocation,
                    unsigned long long flags) {
  return enter(__func__, kInitialised, [&](Call& call) {
    Memory& memory = driver().memory;
    Physical* found = find_in(call, memory.physical, allocation, "allocation");
    if (found == nullptr || found->released || flags != 0) return CudaResult::INVALID_VALUE;
    if (!is_whole(address) || !is_whole(bytes) || bytes == 0 || offset != 0 || bytes > found->bytes ||
        !is_reserved(memory, address, bytes))
      return CudaResult::INVALID_VALUE;
    if (overlaps_mapping(memory, address, bytes)) {
      call.misuse("a part of these addresses is mapped already");
      return CudaResult::ALREADY_MAPPED;
    }
    if (!memory.space.show(address, bytes, -1, memory.space.offset(found->backing)))
      return CudaResult::MAP_FAILED_;
    memory.mappings[address] = {bytes, allocation, CudaMemoryAccess::kNone};
    ++found->mappings;
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemUnmap(CudaAddress address, size_t bytes) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    Driver& all = driver();
    Memory& memory = all.memory;
    Device* device = memory.device_of(address);
    if (!for_mappings(memory, address, bytes, nothing)) {
      call.misuse("this is not mapped, or not whole mappings");
      return CudaResult::INVALID_VALUE;
    }
    // The driver waits, too: what streams do with the memory ends first.
    const auto context = all.contexts.find(device->primary);
    if (context != all.contexts.end()) {
      const std::shared_ptr<Context> held = context->second;
      if (const CudaResult result = all.wait_for_all(call.lock, *held); result != CudaResult::SUCCESS)
        return result;
    }
    for_mappings(memory, address, bytes, [&](std::map<CudaAddress, Mapping>::iterator it) {
      const auto [start, mapping] = *it;
      memory.space.show_own(start, mapping.bytes);
      memory.mappings.erase(it);
      --memory.physical.at(mapping.physical).mappings;
      drop(all, mapping.physical);
    });
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemSetAccess(CudaAddress address, size_t bytes, const CudaAccess* access, size_t count) {
  return enter(__func__, kInitialised, [&](Call&) {
    Memory& memory = driver().memory;
    if (!for_mappings(memory, address, bytes, nothing)) return CudaResult::INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      for_mappings(memory, address, bytes, [&](std::map<CudaAddress, Mapping>::iterator it) {
        const Device& owner = *memory.physical.at(it->second.physical).device;
        if (owner.ordinal == access[i].location.id) it->second.access = access[i].access;
      });
    }
    return CudaResult::SUCCESS;
  });
}

}  // namespace api
}  // namespace atl::cuda_double
