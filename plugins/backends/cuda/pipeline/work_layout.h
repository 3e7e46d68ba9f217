/// Where the tensors of one run lie in a piece of device memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cuda/code/device_part.h"
#include "backends/cuda/code/extents.h"
#include "backends/cuda/execution/pipeline_run.h"
#include "backends/cuda/pipeline/model_plan.h"

namespace atl::cuda_backend {

/// Offsets in bytes, multiples of kScratchAlignment: inputs, then outputs, then scratch. The same shapes lie the same way.
struct WorkLayout {
  std::vector<uint64_t> tensors;  ///< by slot
  std::vector<uint64_t> scratch;  ///< as Pipeline::scratch
  uint64_t inputs_bytes = 0;      ///< of all inputs
  uint64_t outputs_end = 0;       ///< they begin where the inputs end
  uint64_t total_bytes = 0;
};

/// Errors: INVALID_ARGUMENT more bytes than a number holds.
Status lay_out(const ModelPlan& plan, const BatchExtents& extents, const PipelineRun& run,
               WorkLayout& layout) noexcept;

/// The addresses of everything that steps use.
struct WorkAddresses {
  CudaAddress base = 0;
  std::vector<CudaAddress> tensors;  ///< by slot
  std::vector<CudaAddress> scratch;

  /// All in one piece, but for inputs that are absent: those are null.
  void set(const ModelPlan& plan, const BatchExtents& extents, const WorkLayout& layout,
           CudaAddress begin) noexcept;
  CudaAddress of(const BufferRef& buffer, const DevicePart& part) const noexcept;
};

}  // namespace atl::cuda_backend
