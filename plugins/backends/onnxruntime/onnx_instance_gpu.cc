// What an instance on a GPU does otherwise than one on the CPU.
#include <algorithm>

#include "atoll/backend/values.h"
#include "backends/onnxruntime/onnx_instance.h"

namespace atl::ort {

Status OnnxInstance::gather_on_gpu(const BoundInput& bound, std::byte* gathered) noexcept {
  for (const Request* member : members_) {
    for (const Buffer& from : member->find_input(bound.plan->name)->buffers) {
      ATOLL_RETURN_IF_ERROR(
          gpu_->copy(Buffer{gathered, from.size_bytes, MemoryKind::kGpu, gpu_->device()}, from));
      gathered += from.size_bytes;
    }
  }
  return {};
}

/// Whether an output goes to memory of a GPU, as far as that can be known before there is any for it.
bool OnnxInstance::is_for_gpu(const OutputPlan& plan) const noexcept {
  if (plan.ends_iteration || plan.datatype == DataType::kBytes) return false;
  if (gpu_->is_expected(position_of(plan))) return true;
  return std::ranges::any_of(members_, [&](const Request* member) {
    const RequestedOutput* wanted = member->find_output(plan.name);
    const bool placed =
        wanted != nullptr && wanted->placement.data != nullptr && wanted->placement.kind == MemoryKind::kGpu;
    return placed || (plan.state && member->state != nullptr);
  });
}

size_t OnnxInstance::position_of(const OutputPlan& plan) const noexcept {
  return static_cast<size_t>(&plan - plan_->outputs.data());
}

bool OnnxInstance::has_output_to_make_on_gpu() const noexcept {
  return std::ranges::any_of(
      outputs_, [](const BoundOutput& output) { return output.on_gpu && output.value == nullptr; });
}

/// As run(), where memory on the GPU is to be made for an output.
Status OnnxInstance::run_bound() noexcept {
  outputs_on_gpu_.clear();
  for (const BoundOutput& output : outputs_) outputs_on_gpu_.push_back(output.on_gpu);
  Status status =
      gpu_->run_bound(*session_, run_options_.get(),
                      {input_names_, input_values_, output_names_, output_values_, outputs_on_gpu_});
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].value == nullptr) outputs_[i].value.reset(output_values_[i]);
  }
  return status;
}

/// As write_part(), where either side may be on the GPU.
Status OnnxInstance::write_part_of_gpu(const OutputPlan& plan, uint64_t from, uint64_t count,
                                       const Buffer& to) noexcept {
  if (count == 0) return {};
  const uint64_t size_bytes = result_.size_bytes(from, count);
  if (plan.datatype != DataType::kBytes) {
    const MemoryKind kind = result_on_gpu_ ? MemoryKind::kGpu : MemoryKind::kCpu;
    return gpu_->copy(to, Buffer{result_.elements(from), size_bytes, kind, gpu_->device()});
  }
  if (backends::is_host_memory(to.kind)) return result_.write(from, count, static_cast<std::byte*>(to.data));
  std::vector<std::byte> texts(size_bytes);
  ATOLL_RETURN_IF_ERROR(result_.write(from, count, texts.data()));
  ATOLL_RETURN_IF_ERROR(gpu_->copy(to, Buffer{texts.data(), size_bytes}));
  return gpu_->wait();
}

}  // namespace atl::ort
