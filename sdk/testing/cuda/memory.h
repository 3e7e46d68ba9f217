/// What addresses stand for: allocations of devices, ranges that are mapped by hand, pinned memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "address_space.h"
#include "atoll/gpu/cuda_driver.h"

namespace atl::cuda_double {

struct Device;

struct Pool {
  Device* device = nullptr;
  uint64_t most_bytes = 0;  ///< 0: no limit but the device's
  uint64_t release_threshold = 0;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
  uint64_t used = 0;
  uint64_t used_high = 0;
  int32_t reuse[3] = {1, 1, 1};
  bool destroyed = false;  ///< goes when its last allocation does
};

enum class Origin : uint8_t { kAllocated, kPool, kOpened };

struct Allocation {
  /// Stream-ordered ones become live, and end, when a stream gets there.
  enum class State : uint8_t { kOrdered, kLive };

  CudaAddress address = 0;
  uint64_t bytes = 0;
  Device* device = nullptr;
  Origin origin = Origin::kAllocated;
  State state = State::kLive;
  bool free_is_ordered = false;
  std::shared_ptr<Pool> pool;
  uint64_t announcement = 0;  ///< to other processes; 0: none
  uint32_t opened = 0;        ///< kOpened: how often
};

/// Physical memory of cuMemCreate.
struct Physical {
  CudaAddress backing = 0;
  uint64_t bytes = 0;
  Device* device = nullptr;
  uint32_t mappings = 0;
  bool released = false;  ///< goes with its last mapping
};

struct Mapping {
  uint64_t bytes = 0;
  CudaAllocation physical = 0;
  CudaMemoryAccess access = CudaMemoryAccess::kNone;
};

struct Reserved {
  uint64_t bytes = 0;
};

struct Pinned {
  uint64_t bytes = 0;
  bool is_registered = false;  ///< else allocated
};

/// With the driver's mutex held.
struct Memory {
  AddressSpace space;
  std::map<CudaAddress, Allocation> allocations;
  std::map<CudaAddress, Reserved> reserved;
  std::map<CudaAddress, Mapping> mappings;
  std::map<CudaAllocation, Physical> physical;
  std::map<uint64_t, Pinned> pinned;  ///< by the host's address

  /// The allocation that has this address; null: none.
  Allocation* find(CudaAddress address) noexcept;
  /// Whether device memory is there, whatever its state: allocated, or mapped with access.
  bool is_known(CudaAddress address, uint64_t bytes) noexcept;
  /// Where the CPU finds memory that a device may use now; null: it may not.
  char* device_bytes(CudaAddress address, uint64_t bytes) noexcept;
  /// The device of known memory.
  Device* device_of(CudaAddress address) noexcept;
  bool is_pinned(uint64_t address, uint64_t bytes) const noexcept;

 private:
  bool is_mapped(CudaAddress address, uint64_t bytes) const noexcept;
};

}  // namespace atl::cuda_double
