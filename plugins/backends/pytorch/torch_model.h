/// One loaded TorchScript model version.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/clock.h"
#include "backends/pytorch/settings.h"
#include "backends/pytorch/signature.h"

namespace atl::pytorch {

/// Reads a file that torch.jit.save() has written. Errors: INVALID_ARGUMENT it is none, with what PyTorch says.
Result<torch::jit::Module> open_module(const std::string& path) noexcept;

/// Instances have a module each, because forward() may change what the module holds, unless weights are shared.
class TorchModel final : public BackendModel {
 public:
  /// \param module  for the first instance, or for all of them
  TorchModel(const Clock& clock, TorchModelPlan plan, TorchSettings settings, std::string path,
             uint64_t file_bytes, torch::jit::Module module)
      : clock_(clock),
        plan_(std::make_shared<const TorchModelPlan>(std::move(plan))),
        settings_(settings),
        path_(std::move(path)),
        file_bytes_(file_bytes),
        module_(std::move(module)) {}

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override;
  /// The size of the file, which is mostly weights, for each module.
  std::vector<MemoryUsage> memory_usage() const noexcept override;

 private:
  const Clock& clock_;
  std::shared_ptr<const TorchModelPlan> plan_;
  const TorchSettings settings_;
  const std::string path_;
  const uint64_t file_bytes_;
  torch::jit::Module module_;
  std::atomic<uint64_t> modules_{1};
  bool is_taken_ = false;  ///< by an instance
};

}  // namespace atl::pytorch
