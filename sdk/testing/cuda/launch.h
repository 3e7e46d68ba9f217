/// Kernels that run: C++ functions which were registered under the name of a kernel in PTX.
#pragma once

#include "atoll/gpu/cuda_driver.h"
#include "kernels.h"

namespace atl::cuda_double {

/// Without the driver's mutex.
CudaResult run_kernel(const KernelLaunch& launch);

/// Where the CPU finds device memory that may be used now, or pinned memory. [any]
void* kernel_memory(CudaAddress address, size_t bytes);

}  // namespace atl::cuda_double
