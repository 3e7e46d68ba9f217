/// The double's own functions, beside the driver's.
#pragma once

#include <cstdint>

#include "atoll/gpu/cuda_driver.h"
#include "atoll/testing/gpu/cuda_double.h"

namespace atl::cuda_double {

const test::CudaDouble& control() noexcept;

/// cuInit.
CudaResult initialise(uint32_t flags);

/// That of the environment; cuInit keeps it.
int32_t driver_version();

}  // namespace atl::cuda_double
