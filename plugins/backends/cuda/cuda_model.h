/// One loaded version of a model.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "atoll/backend/backend.h"
#include "backends/cuda/backend_context.h"
#include "backends/cuda/code/device_part.h"
#include "backends/cuda/pipeline/model_plan.h"

namespace atl::cuda_backend {

/// Loads code and constants once for each device that it has an instance on.
class CudaModel final : public BackendModel {
 public:
  CudaModel(const CudaBackendContext& context, ModelPlan plan) noexcept
      : context_(context), plan_(std::make_shared<const ModelPlan>(std::move(plan))) {}

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override;
  std::vector<MemoryUsage> memory_usage() const noexcept override;

 private:
  Status check_kind(const InstanceSpec& spec) const noexcept;
  Result<std::shared_ptr<DevicePart>> part_on(int32_t device) noexcept;

  const CudaBackendContext context_;
  const std::shared_ptr<const ModelPlan> plan_;
  mutable std::mutex mutex_;  // guards parts_
  std::map<int32_t, std::shared_ptr<DevicePart>> parts_;
};

}  // namespace atl::cuda_backend
