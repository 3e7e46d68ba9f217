/// What a launch, or a node of a graph, does.
#pragma once

#include <memory>

#include "driver.h"

namespace atl::cuda_double {

/// Checks the launch, and copies its arguments. \param made  out
CudaResult make_launch(const Call& call, const CudaKernelNode& node, std::shared_ptr<KernelLaunch>& made);

}  // namespace atl::cuda_double
