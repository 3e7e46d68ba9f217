/// Puts the steps of a run into a stream.
#pragma once

#include <vector>

#include "backends/cuda/code/device_part.h"
#include "backends/cuda/execution/pipeline_run.h"
#include "backends/cuda/pipeline/stream.h"
#include "backends/cuda/pipeline/work_layout.h"

namespace atl::cuda_backend {

/// Launches kernels, one instance's. Keeps its memory. One thread at a time.
class KernelLauncher {
 public:
  /// The device is current. Errors: as Cuda::report(), with the step and its kernel; what was launched before goes on.
  Status launch(const ModelPlan& plan, const DevicePart& part, const PipelineRun& run,
                const WorkAddresses& addresses, const Stream& stream) noexcept;

 private:
  Status launch_kernel(const DevicePart& part, size_t step, const PipelineStepRun& run,
                       const WorkAddresses& addresses, const Stream& stream) noexcept;

  std::vector<uint64_t> values_;
  std::vector<void*> arguments_;  ///< pointers to them
};

}  // namespace atl::cuda_backend
