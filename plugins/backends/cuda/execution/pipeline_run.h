/// A pipeline for one batch: what is launched, with all numbers known.
#pragma once

#include <cstdint>
#include <vector>

#include "atoll/core/status.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace atl::cuda_backend {

/// What a device can run; the numbers every CUDA device has, where nothing else is said.
struct LaunchLimits {
  uint32_t grid[3] = {0x7fffffff, 65535, 65535};
  uint32_t block[3] = {1024, 1024, 64};
  uint32_t threads = 1024;            ///< of a block
  uint32_t shared_bytes = 48 * 1024;  ///< dynamic, of a block; more by kMaxSharedBytesOptIn
};

/// One argument for a launch.
struct ArgumentValue {
  BufferRef buffer;   ///< `is_buffer`: whoever launches knows the address
  uint64_t bits = 0;  ///< else: its first bytes are the value, as many as the kernel's parameter has
  bool is_buffer = false;
};

/// One step of a batch.
struct PipelineStepRun {
  StepKind kind = StepKind::kKernel;
  bool skip = false;  ///< an empty grid, or nothing to set or copy

  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::vector<ArgumentValue> arguments;

  BufferRef to;
  BufferRef from;
  uint64_t to_offset = 0;  ///< bytes
  uint64_t from_offset = 0;
  uint64_t bytes = 0;
  uint8_t value = 0;
};

/// Kept by an instance and filled again for each batch, which allocates nothing after the first.
struct PipelineRun {
  std::vector<uint64_t> scratch_bytes;  ///< as Pipeline::scratch
  std::vector<PipelineStepRun> steps;   ///< as Pipeline::steps
};

/// Sets the outputs' shapes, where the batch size and all inputs are set. What the configuration has fixed is taken from
/// there, the rest from [output.NAME].
/// Errors: INVALID_ARGUMENT the file's numbers do not work out for this batch, or contradict the configuration.
Status set_output_shapes(const Pipeline& pipeline, BatchExtents& extents) noexcept;

/// \param extents  complete \param run  out; not to be used where an error comes back
/// Errors: INVALID_ARGUMENT with the step: an expression fails, a grid, block or shared memory beyond the limits, a number
/// that does not fit its argument, a copy or memset beyond its buffers. The file's, or the request's fault.
Status evaluate(const Pipeline& pipeline, const BatchExtents& extents, const LaunchLimits& limits,
                PipelineRun& run) noexcept;

}  // namespace atl::cuda_backend
