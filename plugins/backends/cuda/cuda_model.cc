#include "backends/cuda/cuda_model.h"

#include <utility>

#include "backends/cuda/execution/cuda_instance.h"

namespace atl::cuda_backend {

Status CudaModel::check_kind(const InstanceSpec& spec) const noexcept {
  if (spec.kind == InstanceKind::kGpu) return {};
  const Status absence = context_.cuda->absence();
  return invalid_argument("instance '", spec.name, "': found KIND_", instance_kind_name(spec.kind),
                          ", expected KIND_GPU: this backend runs kernels on GPUs",
                          absence.ok() ? std::string() : cat("; there is none: ", absence.message()));
}

Result<std::shared_ptr<DevicePart>> CudaModel::part_on(int32_t device) noexcept {
  {
    std::lock_guard lock(mutex_);
    const auto found = parts_.find(device);
    if (found != parts_.end()) return found->second;
  }
  Result<std::shared_ptr<DevicePart>> part = DevicePart::load(context_, *plan_, device);
  if (!part.ok()) return part;
  if (!(*part)->code().file().empty())
    context_.log->info("model '", plan_->model_name, "' has its code for GPU ", device, " from ",
                       (*part)->code().file());
  std::lock_guard lock(mutex_);
  return parts_.emplace(device, std::move(part).value()).first->second;
}

Result<std::unique_ptr<BackendInstance>> CudaModel::create_instance(const InstanceSpec& spec) noexcept {
  Status status = check_kind(spec);
  if (!status.ok()) return status;
  Result<std::shared_ptr<DevicePart>> part = part_on(spec.device_id);
  if (!part.ok()) {
    return make_status(part.status().code(), "unable to load model '", plan_->model_name,
                       "': ", part.status().message());
  }
  Result<std::unique_ptr<CudaInstance>> made =
      CudaInstance::make(plan_, std::move(part).value(), spec.reporter);
  if (!made.ok()) {
    return make_status(made.status().code(), "unable to load model '", plan_->model_name,
                       "': ", made.status().message());
  }
  return std::unique_ptr<BackendInstance>(std::move(made).value());
}

std::vector<MemoryUsage> CudaModel::memory_usage() const noexcept {
  std::lock_guard lock(mutex_);
  std::vector<MemoryUsage> usage;
  for (const auto& [device, part] : parts_) usage.push_back({MemoryKind::kGpu, device, part->used_bytes()});
  return usage;
}

}  // namespace atl::cuda_backend
