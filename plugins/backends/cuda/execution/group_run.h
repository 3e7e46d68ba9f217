/// Runs one group of requests on the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cuda/execution/batch_group.h"
#include "backends/cuda/execution/input_copies.h"
#include "backends/cuda/execution/output_copies.h"
#include "backends/cuda/pipeline/launch.h"
#include "backends/cuda/pipeline/work_set.h"

namespace atl::cuda_backend {

/// One instance's; keeps its memory. The device is current; one thread at a time.
class GroupRun {
 public:
  GroupRun(const ModelPlan& plan, DevicePart& part, const Lanes& lanes) noexcept
      : plan_(plan),
        part_(part),
        lanes_(lanes),
        extents_(plan.pipeline.table),
        inputs_(plan, part),
        outputs_(plan, part) {}

  /// Works out shapes, numbers and places; nothing is put into a stream. \param set  what it will be run in
  /// Errors: INVALID_ARGUMENT these requests cannot be run at once, or the file's numbers do not work out for them.
  Status prepare(const BatchGroup& group, const WorkSet& set) noexcept;
  /// Puts all that was prepared into the lanes. \param is_first  of its batch
  /// Errors, after which some of it may be in the lanes: RESOURCE_EXHAUSTED; INTERNAL; UNAVAILABLE the device is lost.
  Status run(const BatchGroup& group, WorkSet& set, InFlight& batch, bool is_first) noexcept;

  // --- when an instance is made: inputs are zeros ---

  /// Works out the same for inputs of these shapes. \param shapes  as ModelPlan::inputs
  Status prepare(int64_t batch, const std::vector<std::vector<int64_t>>& shapes) noexcept;
  uint64_t work_bytes() const noexcept { return layout_.total_bytes; }
  /// Runs it without a graph and waits for the end. Errors: as run(), with what the kernels did wrong.
  Status run_on_zeros(WorkSet& set) noexcept;
  /// Errors: as CapturedGraph::capture().
  Result<CapturedGraph> capture(WorkSet& set, GraphShapes shapes) noexcept;

 private:
  Status join(const BatchGroup& group);
  Status join_input(const InputPlan& input, const BatchGroup& group, std::vector<int64_t>& shape);
  Status work_out(int64_t batch);

  const ModelPlan& plan_;
  DevicePart& part_;
  const Lanes& lanes_;
  BatchExtents extents_;
  PipelineRun run_;
  WorkLayout layout_;
  WorkAddresses addresses_;
  InputCopies inputs_;
  OutputCopies outputs_;
  KernelLauncher launcher_;
  const CapturedGraph* graph_ = nullptr;      ///< of the group that was prepared
  std::vector<std::vector<int64_t>> shapes_;  ///< as ModelPlan::inputs; empty: the group is without it
  std::vector<std::span<const int64_t>> views_;
};

}  // namespace atl::cuda_backend
