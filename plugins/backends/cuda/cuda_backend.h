/// The "cuda" backend.
#pragma once

#include "atoll/backend/backend.h"
#include "backends/cuda/backend_context.h"

namespace atl::cuda_backend {

/// Runs the kernels of a version's pipeline.toml on GPUs.
class CudaBackend final : public Backend {
 public:
  /// Before the first model; again after close(). [control]
  void open(const CudaBackendContext& context) noexcept { context_ = context; }

  BackendTraits traits() const noexcept override;
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;
  /// `backend: "cuda"`, because an instance of that name is the GPUs' memory in most servers.
  Result<bool> serves(const ModelSource& source) noexcept override;

 private:
  CudaBackendContext context_;
};

}  // namespace atl::cuda_backend
