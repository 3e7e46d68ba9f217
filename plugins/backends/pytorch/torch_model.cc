#include "backends/pytorch/torch_model.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <exception>
#include <optional>
#include <utility>

#include "backends/pytorch/torch_instance.h"

namespace atl::pytorch {

Result<torch::jit::Module> open_module(const std::string& path) noexcept {
  try {
    torch::jit::Module module = torch::jit::load(path, c10::kCPU);
    module.eval();
    return module;
  } catch (const c10::Error& error) {
    return invalid_argument("model file '", path,
                            "': PyTorch cannot read it: ", error.what_without_backtrace());
  } catch (const std::exception& error) {
    return invalid_argument("model file '", path, "': PyTorch cannot read it: ", error.what());
  }
}

Result<std::unique_ptr<BackendInstance>> TorchModel::create_instance(const InstanceSpec& spec) noexcept {
  if (spec.kind == InstanceKind::kGpu) {
    return unimplemented("instance '", spec.name,
                         "': found KIND_GPU, expected KIND_CPU: this backend runs on CPU");
  }
  torch::jit::Module module = module_;
  if (std::exchange(is_taken_, true) && !settings_.shares_weights) {
    Result<torch::jit::Module> another = open_module(path_);
    if (!another.ok()) return std::move(another).status();
    module = std::move(another).value();
    modules_.fetch_add(1, std::memory_order_relaxed);
  }
  return std::unique_ptr<BackendInstance>(
      new TorchInstance(clock_, plan_, settings_, std::move(module), spec.reporter));
}

std::vector<MemoryUsage> TorchModel::memory_usage() const noexcept {
  return {{MemoryKind::kCpu, 0, file_bytes_ * modules_.load(std::memory_order_relaxed)}};
}

}  // namespace atl::pytorch
