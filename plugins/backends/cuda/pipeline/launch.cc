#include "backends/cuda/pipeline/launch.h"

#include <algorithm>

namespace atl::cuda_backend {
namespace {

/// As the messages of the file have it.
std::string step_text(const ModelPlan& plan, size_t index) {
  const PipelineStep& step = plan.pipeline.steps[index];
  const std::string_view name = step.kind == StepKind::kKernel   ? std::string_view(step.kernel)
                                : step.kind == StepKind::kMemset ? "memset"
                                                                 : "copy";
  return cat("step ", index + 1, " (", name, ")");
}

}  // namespace

Status KernelLauncher::launch(const ModelPlan& plan, const DevicePart& part, const PipelineRun& run,
                              const WorkAddresses& addresses, const Stream& stream) noexcept {
  Cuda& cuda = part.cuda();
  for (size_t i = 0; i < run.steps.size(); ++i) {
    const PipelineStepRun& step = run.steps[i];
    if (step.skip) continue;
    Status status;
    if (step.kind == StepKind::kKernel) {
      status = launch_kernel(part, i, step, addresses, stream);
    } else {
      const CudaAddress to = addresses.of(step.to, part) + step.to_offset;
      status = step.kind == StepKind::kMemset
                   ? cuda.call<&CudaDriver::cuMemsetD8Async>(part.device(), to, step.value, step.bytes,
                                                             stream.handle())
                   : cuda.call<&CudaDriver::cuMemcpyAsync>(part.device(), to,
                                                           addresses.of(step.from, part) + step.from_offset,
                                                           step.bytes, stream.handle());
    }
    if (!status.ok()) return make_status(status.code(), step_text(plan, i), ": ", status.message());
  }
  return {};
}

Status KernelLauncher::launch_kernel(const DevicePart& part, size_t step, const PipelineStepRun& run,
                                     const WorkAddresses& addresses, const Stream& stream) noexcept {
  const size_t count = run.arguments.size();
  values_.resize(std::max(values_.size(), count));
  arguments_.resize(std::max(arguments_.size(), count));
  for (size_t i = 0; i < count; ++i) {
    const ArgumentValue& argument = run.arguments[i];
    values_[i] = argument.is_buffer ? addresses.of(argument.buffer, part) : argument.bits;
    arguments_[i] = &values_[i];
  }
  const CudaFunction function = part.code().function(step);
  if (!run.cooperative) {
    return part.cuda().call<&CudaDriver::cuLaunchKernel>(
        part.device(), function, run.grid[0], run.grid[1], run.grid[2], run.block[0], run.block[1],
        run.block[2], run.shared_bytes, stream.handle(), arguments_.data(), nullptr);
  }
  CudaLaunchAttribute attribute;
  attribute.id = CudaLaunchAttributeId::kCooperative;
  attribute.cooperative = 1;
  CudaLaunch launch;
  std::copy(run.grid, run.grid + 3, launch.grid);
  std::copy(run.block, run.block + 3, launch.block);
  launch.shared_bytes = run.shared_bytes;
  launch.stream = stream.handle();
  launch.attributes = &attribute;
  launch.attribute_count = 1;
  return part.cuda().call<&CudaDriver::cuLaunchKernelEx>(part.device(), &launch, function, arguments_.data(),
                                                         nullptr);
}

}  // namespace atl::cuda_backend
