/// Pools of device memory, and what is allocated and freed in the order of streams.
#include <algorithm>
#include <cstring>

#include "allocate.h"
#include "driver.h"

namespace atl::cuda_double {
namespace {

uint64_t in_blocks(uint64_t bytes) {
  constexpr uint64_t kBlock = AddressSpace::kGranularity;
  return (bytes + kBlock - 1) / kBlock * kBlock;
}

void trim(Pool& pool, uint64_t keep_bytes) {
  const uint64_t kept = std::max(in_blocks(pool.used), in_blocks(std::min(pool.reserved, keep_bytes)));
  if (kept >= pool.reserved) return;
  pool.device->used -= pool.reserved - kept;
  pool.reserved = kept;
}

/// Takes so much of the pool, which grows where it has to and may.
bool take_from(Pool& pool, uint64_t bytes) {
  if (bytes > UINT64_MAX / 2) return false;
  const uint64_t wanted = in_blocks(pool.used + bytes);
  if (wanted > pool.reserved) {
    if (pool.most_bytes != 0 && wanted > in_blocks(pool.most_bytes)) return false;
    if (!driver().use(*pool.device, wanted - pool.reserved)) return false;
    pool.reserved = wanted;
    pool.reserved_high = std::max(pool.reserved_high, wanted);
  }
  pool.used += bytes;
  pool.used_high = std::max(pool.used_high, pool.used);
  return true;
}

template <class Value>
CudaResult set_high(Value& high, Value current, const void* value) {
  uint64_t wanted = 0;
  std::memcpy(&wanted, value, sizeof(wanted));
  if (wanted != 0) return CudaResult::INVALID_VALUE;
  high = current;
  return CudaResult::SUCCESS;
}

/// \return 0: it is another attribute
uint64_t* wide_value(Pool& pool, CudaPoolAttribute attribute) {
  switch (attribute) {
    case CudaPoolAttribute::kReleaseThreshold:
      return &pool.release_threshold;
    case CudaPoolAttribute::kReservedCurrent:
      return &pool.reserved;
    case CudaPoolAttribute::kReservedHigh:
      return &pool.reserved_high;
    case CudaPoolAttribute::kUsedCurrent:
      return &pool.used;
    case CudaPoolAttribute::kUsedHigh:
      return &pool.used_high;
    default:
      return nullptr;
  }
}

int32_t* switch_value(Pool& pool, CudaPoolAttribute attribute) {
  const auto index = static_cast<size_t>(attribute) - 1;
  return index < std::size(pool.reuse) ? &pool.reuse[index] : nullptr;
}

std::shared_ptr<Pool> find_pool(const Call& call, CudaPool pool) {
  auto* found = find_in(call, driver().pools, pool, "pool");
  return found == nullptr ? nullptr : *found;
}

/// A capture takes no memory here: it would have to be allocated again by every launch of the graph.
bool is_capturing(const Stream& stream) {
  if (stream.capture == nullptr) return false;
  stream.capture->is_invalid = true;
  return true;
}

/// The end of an allocation is reached by its stream.
CudaResult end_in_order(CudaAddress address) {
  std::lock_guard lock(driver().mutex);
  give_back(driver(), address);
  return CudaResult::SUCCESS;
}

CudaResult begin_in_order(CudaAddress address) {
  std::lock_guard lock(driver().mutex);
  if (Allocation* found = driver().memory.find(address)) found->state = Allocation::State::kLive;
  return CudaResult::SUCCESS;
}

}  // namespace

void trim_pools(const Device& device) {
  for (auto& [handle, pool] : driver().pools) {
    if (pool->device == &device) trim(*pool, pool->release_threshold);
  }
}

namespace api {

CudaResult cuMemPoolCreate(CudaPool* pool, const CudaPoolOptions* options) {
  return enter(__func__, kInitialised, [&](Call&) {
    Driver& all = driver();
    const auto ordinal = static_cast<size_t>(options->location.id);
    if (options->type != CudaAllocationType::kPinned || options->location.type != CudaLocationType::kDevice ||
        ordinal >= all.devices.size())
      return CudaResult::INVALID_VALUE;
    Device& device = *all.devices[ordinal];
    if (device.failure != CudaResult::SUCCESS) return device.failure;
    auto made = std::make_shared<Pool>();
    made->device = &device;
    made->most_bytes = options->max_bytes;
    *pool = all.new_handle<CudaPool>();
    all.pools.emplace(*pool, std::move(made));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemPoolDestroy(CudaPool pool) {
  return enter(__func__, kInitialised | kGivesBack, [&](Call& call) {
    const std::shared_ptr<Pool> found = find_pool(call, pool);
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    if (found->device->failure != CudaResult::SUCCESS) return found->device->failure;
    found->destroyed = true;
    trim(*found, 0);
    driver().pools.erase(pool);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemPoolSetAttribute(CudaPool pool, CudaPoolAttribute attribute, void* value) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const std::shared_ptr<Pool> found = find_pool(call, pool);
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    if (attribute == CudaPoolAttribute::kReservedHigh)
      return set_high(found->reserved_high, found->reserved, value);
    if (attribute == CudaPoolAttribute::kUsedHigh) return set_high(found->used_high, found->used, value);
    if (attribute == CudaPoolAttribute::kReleaseThreshold) {
      std::memcpy(&found->release_threshold, value, sizeof(uint64_t));
      return CudaResult::SUCCESS;
    }
    int32_t* one = switch_value(*found, attribute);
    if (one == nullptr) return CudaResult::INVALID_VALUE;
    std::memcpy(one, value, sizeof(*one));
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemPoolGetAttribute(CudaPool pool, CudaPoolAttribute attribute, void* value) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const std::shared_ptr<Pool> found = find_pool(call, pool);
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    if (const uint64_t* wide = wide_value(*found, attribute)) {
      std::memcpy(value, wide, sizeof(*wide));
    } else if (const int32_t* one = switch_value(*found, attribute)) {
      std::memcpy(value, one, sizeof(*one));
    } else {
      return CudaResult::INVALID_VALUE;
    }
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemPoolSetAccess(CudaPool pool, const CudaAccess* access, size_t count) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const std::shared_ptr<Pool> found = find_pool(call, pool);
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const auto ordinal = static_cast<size_t>(access[i].location.id);
      if (access[i].location.type != CudaLocationType::kDevice || ordinal >= driver().devices.size())
        return CudaResult::INVALID_DEVICE;
    }
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemPoolTrimTo(CudaPool pool, size_t keep_bytes) {
  return enter(__func__, kInitialised, [&](Call& call) {
    const std::shared_ptr<Pool> found = find_pool(call, pool);
    if (found == nullptr) return CudaResult::INVALID_VALUE;
    if (found->device->failure != CudaResult::SUCCESS) return found->device->failure;
    trim(*found, keep_bytes);
    return CudaResult::SUCCESS;
  });
}

CudaResult cuMemAllocFromPoolAsync(CudaAddress* address, size_t bytes, CudaPool pool, CudaStream stream) {
  return enter(__func__, kCurrentContext, [&](Call& call) {
    Driver& all = driver();
    const std::shared_ptr<Pool> from = find_pool(call, pool);
    const std::shared_ptr<Stream> in = call.find(stream);
    if (from == nullptr || in == nullptr || bytes == 0) return CudaResult::INVALID_VALUE;
    if (from->device->failure != CudaResult::SUCCESS) return from->device->failure;
    if (is_capturing(*in)) return CudaResult::STREAM_CAPTURE_UNSUPPORTED;
    if (!take_from(*from, bytes)) return CudaResult::OUT_OF_MEMORY;
    const CudaAddress taken = take_addresses(bytes, AddressSpace::kPage);
    if (taken == 0) {
      from->used -= bytes;
      return CudaResult::OUT_OF_MEMORY;
    }
    Allocation& made = all.memory.allocations[taken];
    made.address = *address = taken;
    made.bytes = bytes;
    made.device = from->device;
    made.origin = Origin::kPool;
    made.state = Allocation::State::kOrdered;
    made.pool = from;
    return call.submit(stream, {CudaGraphNodeType::kEmpty, [taken] { return begin_in_order(taken); }, {}});
  });
}

CudaResult cuMemFreeAsync(CudaAddress address, CudaStream stream) {
  return enter(__func__, kCurrentContext | kGivesBack, [&](Call& call) {
    if (address == 0) return CudaResult::SUCCESS;
    Allocation* found = driver().memory.find(address);
    const std::shared_ptr<Stream> in = call.find(stream);
    if (in == nullptr) return CudaResult::INVALID_HANDLE;
    if (found == nullptr || found->address != address || found->free_is_ordered ||
        found->origin == Origin::kOpened) {
      call.misuse("this is no allocation, or no longer");
      return CudaResult::INVALID_VALUE;
    }
    if (is_capturing(*in)) return CudaResult::STREAM_CAPTURE_UNSUPPORTED;
    found->free_is_ordered = true;
    // Who allocates next may have it: the driver makes that wait for this stream where it has to.
    if (found->origin == Origin::kPool) found->pool->used -= found->bytes;
    return call.submit(stream, {CudaGraphNodeType::kEmpty, [address] { return end_in_order(address); }, {}});
  });
}

}  // namespace api
}  // namespace atl::cuda_double
