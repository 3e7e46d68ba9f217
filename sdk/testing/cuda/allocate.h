/// How addresses and bytes of a device are taken and given back.
#pragma once

#include <cstdint>

#include "driver.h"

namespace atl::cuda_double {

/// With the driver's mutex held. \return 0: the system has no more
CudaAddress take_addresses(uint64_t bytes, uint64_t alignment);

/// An allocation ends. With the driver's mutex held; a pool has counted it as free already.
void give_back(Driver& all, CudaAddress address);

/// Pools keep no more than their threshold over a synchronisation. With the driver's mutex held.
void trim_pools(const Device& device);

}  // namespace atl::cuda_double
