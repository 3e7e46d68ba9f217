#include "memory.h"

namespace atl::cuda_double {
namespace {

/// The entry whose range has this address. \return end(): none
template <class Map>
auto containing(Map& map, uint64_t address) noexcept {
  auto it = map.upper_bound(address);
  if (it == map.begin()) return map.end();
  --it;
  return address - it->first < it->second.bytes ? it : map.end();
}

}  // namespace

Allocation* Memory::find(CudaAddress address) noexcept {
  const auto it = containing(allocations, address);
  return it == allocations.end() ? nullptr : &it->second;
}

bool Memory::is_mapped(CudaAddress address, uint64_t bytes) const noexcept {
  while (true) {
    const auto it = containing(mappings, address);
    if (it == mappings.end() || it->second.access != CudaMemoryAccess::kReadWrite) return false;
    const uint64_t rest = it->first + it->second.bytes - address;
    if (bytes <= rest) return true;
    address += rest;
    bytes -= rest;
  }
}

bool Memory::is_known(CudaAddress address, uint64_t bytes) noexcept {
  if (const Allocation* found = find(address)) {
    return !found->free_is_ordered && bytes <= found->bytes - (address - found->address);
  }
  return is_mapped(address, bytes);
}

char* Memory::device_bytes(CudaAddress address, uint64_t bytes) noexcept {
  if (const Allocation* found = find(address)) {
    const bool is_inside = bytes <= found->bytes - (address - found->address);
    return is_inside && found->state == Allocation::State::kLive ? space.host(address) : nullptr;
  }
  return is_mapped(address, bytes) ? space.host(address) : nullptr;
}

Device* Memory::device_of(CudaAddress address) noexcept {
  if (const Allocation* found = find(address)) return found->device;
  const auto it = containing(mappings, address);
  if (it == mappings.end()) return nullptr;
  return physical.at(it->second.physical).device;
}

bool Memory::is_pinned(uint64_t address, uint64_t bytes) const noexcept {
  const auto it = containing(pinned, address);
  return it != pinned.end() && bytes <= it->first + it->second.bytes - address;
}

}  // namespace atl::cuda_double
