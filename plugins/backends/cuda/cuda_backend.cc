#include "backends/cuda/cuda_backend.h"

#include <utility>

#include "atoll/proto/model_description.h"
#include "backends/common/config_view.h"
#include "backends/cuda/cuda_model.h"
#include "backends/cuda/pipeline/model_plan.h"

namespace atl::cuda_backend {

BackendTraits CudaBackend::traits() const noexcept {
  BackendTraits traits;
  traits.preferred_groups = {{InstanceKind::kGpu, 0, {}}};
  traits.device_ordered = true;
  return traits;
}

/// Kernels do not say what their arguments mean, so the configuration has to; what it says is checked by load().
Result<std::string> CudaBackend::complete_config(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  for (const TensorSpec& output : source.model.outputs) {
    if (output.datatype == DataType::kBytes) {
      return invalid_argument("output '", output.name,
                              "': found TYPE_STRING, expected a type whose elements are ", "of one size");
    }
  }
  return source.config;
}

Result<bool> CudaBackend::serves(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  return view->message().backend() == "cuda";
}

Result<std::unique_ptr<BackendModel>> CudaBackend::load(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  const inference::ModelConfig& config = view->message();
  Result<ModelPlan> plan =
      make_plan(config, proto::describe_model(config), source.version_directory, *context_.log);
  if (!plan.ok()) {
    return make_status(plan.status().code(), "unable to load model '", config.name(),
                       "': ", plan.status().message());
  }
  plan->code.nvrtc_libraries = context_.nvrtc_libraries;
  return std::unique_ptr<BackendModel>(new CudaModel(context_, std::move(plan).value()));
}

}  // namespace atl::cuda_backend
