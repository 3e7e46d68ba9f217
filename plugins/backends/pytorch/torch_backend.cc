#include "backends/pytorch/torch_backend.h"

#include <exception>
#include <utility>

#include "backends/common/config_view.h"
#include "backends/common/model_file.h"
#include "backends/pytorch/torch_model.h"

namespace atl::pytorch {
namespace {

constexpr std::string_view kDefaultFileName = "model.pt";

Result<TorchModelPlan> plan_of(const inference::ModelConfig& config,
                               const torch::jit::Module& module) noexcept try {
  return make_plan(config, module);
} catch (const std::exception& error) {
  return internal_error(error.what());
}

}  // namespace

Result<std::unique_ptr<BackendModel>> TorchBackend::load(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  const inference::ModelConfig& config = view->message();
  if (config.platform() == "torch_aoti") {
    return unimplemented(
        "platform 'torch_aoti': this backend runs TorchScript models, saved by torch.jit.save()");
  }
  Result<TorchSettings> settings = read_settings(source.model, source.settings, intra_op_threads_);
  if (!settings.ok()) return std::move(settings).status();
  ATOLL_RETURN_IF_ERROR(apply_process_settings(source.model, log_));
  const std::string& name = config.default_model_filename();
  auto file = backends::find_model_file(
      source.version_directory, name.empty() ? std::string(kDefaultFileName) : name, "a TorchScript file");
  if (!file.ok()) return std::move(file).status();
  Result<torch::jit::Module> module = open_module(file->path);
  if (!module.ok()) return std::move(module).status();
  Result<TorchModelPlan> plan = plan_of(config, *module);
  if (!plan.ok()) {
    return make_status(plan.status().code(), "unable to load model '", config.name(), "', ",
                       plan.status().message());
  }
  return std::unique_ptr<BackendModel>(new TorchModel(clock_, std::move(plan).value(), *settings,
                                                      std::move(file->path), file->size_bytes,
                                                      std::move(module).value()));
}

}  // namespace atl::pytorch
