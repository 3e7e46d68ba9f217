#include "backends/cuda/pipeline/work_layout.h"

namespace atl::cuda_backend {
namespace {

/// Gives out one place after the other.
class Places {
 public:
  uint64_t add(uint64_t size_bytes) noexcept {
    const uint64_t place = end_;
    uint64_t rounded = 0;
    overflows_ |= __builtin_add_overflow(size_bytes, kScratchAlignment - 1, &rounded);
    rounded = rounded / kScratchAlignment * kScratchAlignment;
    overflows_ |= __builtin_add_overflow(end_, rounded, &end_);
    return place;
  }
  uint64_t end() const noexcept { return end_; }
  bool overflows() const noexcept { return overflows_; }

 private:
  uint64_t end_ = 0;
  bool overflows_ = false;
};

}  // namespace

Status lay_out(const ModelPlan& plan, const BatchExtents& extents, const PipelineRun& run,
               WorkLayout& layout) noexcept {
  Places places;
  layout.tensors.resize(extents.tensor_count());
  layout.scratch.resize(run.scratch_bytes.size());
  for (const InputPlan& input : plan.inputs)
    layout.tensors[input.slot] = places.add(static_cast<uint64_t>(extents.bytes(input.slot)));
  layout.inputs_bytes = places.end();
  for (const OutputPlan& output : plan.outputs)
    layout.tensors[output.slot] = places.add(static_cast<uint64_t>(extents.bytes(output.slot)));
  layout.outputs_end = places.end();
  for (size_t i = 0; i < layout.scratch.size(); ++i) layout.scratch[i] = places.add(run.scratch_bytes[i]);
  layout.total_bytes = places.end();
  if (!places.overflows()) return {};
  return invalid_argument("the tensors of the batch and the scratch memory take more than 2^64 - 1 bytes");
}

void WorkAddresses::set(const ModelPlan& plan, const BatchExtents& extents, const WorkLayout& layout,
                        CudaAddress begin) noexcept {
  base = begin;
  tensors.resize(layout.tensors.size());
  scratch.resize(layout.scratch.size());
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i] = base + layout.tensors[i];
  for (size_t i = 0; i < scratch.size(); ++i) scratch[i] = base + layout.scratch[i];
  for (const InputPlan& input : plan.inputs) {
    if (input.optional && extents.bytes(input.slot) == 0) tensors[input.slot] = 0;
  }
}

CudaAddress WorkAddresses::of(const BufferRef& buffer, const DevicePart& part) const noexcept {
  switch (buffer.kind) {
    case BufferKind::kTensor:
      return tensors[buffer.index];
    case BufferKind::kScratch:
      return scratch[buffer.index];
    case BufferKind::kConstant:
      return part.constant(buffer.index);
    default:
      return 0;
  }
}

}  // namespace atl::cuda_backend
