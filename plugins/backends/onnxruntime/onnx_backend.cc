#include "backends/onnxruntime/onnx_backend.h"

#include <algorithm>
#include <utility>

#include "backends/common/batch_completion.h"
#include "backends/common/config_view.h"
#include "backends/onnxruntime/autofill.h"
#include "backends/onnxruntime/gpu_source.h"

namespace atl::ort {
namespace {

/// A session that is only asked what it takes and gives: nothing is optimised and no thread is started.
OnnxSessionSettings settings_for_inspection() {
  OnnxSessionSettings settings;
  settings.graph_level = ORT_DISABLE_ALL;
  return settings;
}

using Group = inference::ModelInstanceGroup;

bool has_group(const inference::ModelConfig& config, Group::Kind kind) {
  return std::ranges::any_of(config.instance_group(),
                             [kind](const Group& group) { return group.kind() == kind; });
}

}  // namespace

/// Nothing: no instance is for a GPU.
Result<std::optional<GpuSettings>> OnnxBackend::gpu_settings_for(const inference::ModelConfig& config) const {
  if (!has_group(config, Group::KIND_GPU)) {
    if (config.optimization().execution_accelerators().gpu_execution_accelerator_size() != 0) {
      context_.environment->log().warning("model '", config.name(),
                                          "': gpu_execution_accelerator is ignored, the model runs on CPU");
    }
    return std::optional<GpuSettings>();
  }
  Status usable = context_.gpus == nullptr ? make_status(Code::kUnavailable, "no plugin provides GPUs")
                                           : context_.gpus->usable();
  if (!usable.ok()) {
    return make_status(usable.code(), "unable to load model '", config.name(),
                       "', which has instances of KIND_GPU: ", usable.message());
  }
  auto settings = read_gpu_settings(config);
  if (!settings.ok()) return std::move(settings).status();
  return std::optional(std::move(settings).value());
}

/// Where there are instances on the CPU, the session that they share; else that of the first instance.
Result<FirstSession> OnnxBackend::open_first(const inference::ModelConfig& config,
                                             const OnnxSessionSettings& settings,
                                             std::optional<GpuSettings>& gpu_settings,
                                             const OnnxFile& file) const {
  FirstSession first;
  const bool all_on_gpus =
      gpu_settings && std::ranges::all_of(config.instance_group(), [](const Group& group) {
        return group.kind() == Group::KIND_GPU && group.gpus_size() != 0;
      });
  if (all_on_gpus) first.device = config.instance_group(0).gpus(0);
  auto session = all_on_gpus
                     ? open_on_gpu(context_, settings, config.name(), file, *gpu_settings, *first.device)
                     : open_session(context_, settings, config.name(), file);
  if (!session.ok()) return std::move(session).status();
  first.session = std::move(session).value();
  return first;
}

BackendTraits OnnxBackend::traits() const noexcept {
  BackendTraits traits;
  if (context_.gpus != nullptr && context_.gpus->usable().ok()) {
    traits.preferred_groups.push_back({InstanceKind::kGpu, 0, {}});
  }
  traits.preferred_groups.push_back({InstanceKind::kCpu, 0, {}});
  return traits;
}

namespace {

/// Some failures name the model themselves.
Status not_loadable(const inference::ModelConfig& config, Status failure) {
  if (failure.message().starts_with("unable to load model '")) return failure;
  return make_status(failure.code(), "unable to load model '", config.name(), "', ", failure.message());
}

}  // namespace

Result<std::string> OnnxBackend::complete_config(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  inference::ModelConfig config = view->message();
  if (is_complete(config)) return source.config;
  auto default_size = backends::default_max_batch_size(source);
  if (!default_size.ok()) return std::move(default_size).status();
  auto file = find_onnx_file(source.version_directory, config.default_model_filename());
  if (!file.ok()) return std::move(file).status();
  auto session = open_session(context_, settings_for_inspection(), config.name(), *file);
  if (!session.ok()) return std::move(session).status();
  auto signature = read_signature(**session);
  if (!signature.ok()) return std::move(signature).status();
  ATOLL_RETURN_IF_ERROR(complete(config, *signature, *default_size));
  return config.SerializeAsString();
}

Result<std::unique_ptr<BackendModel>> OnnxBackend::load(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  const inference::ModelConfig& config = view->message();
  auto settings = read_session_settings(*view, source.settings, defaults_, context_.environment->log());
  if (!settings.ok()) return std::move(settings).status();
  auto file = find_onnx_file(source.version_directory, config.default_model_filename());
  if (!file.ok()) return std::move(file).status();
  auto gpu_settings = gpu_settings_for(config);
  if (!gpu_settings.ok()) return std::move(gpu_settings).status();
  auto first = open_first(config, *settings, *gpu_settings, *file);
  if (!first.ok()) return std::move(first).status();
  auto signature = read_signature(*first->session);
  if (!signature.ok()) return std::move(signature).status();
  Status fits = check_against_model(config, *signature);
  auto plan = fits.ok() ? make_plan(config, *signature) : Result<OnnxModelPlan>(std::move(fits));
  if (!plan.ok()) return not_loadable(config, std::move(plan).status());
  return std::unique_ptr<BackendModel>(
      new OnnxModel(context_, std::move(plan).value(), std::move(settings).value(),
                    std::move(gpu_settings).value(), std::move(file).value(), std::move(first).value()));
}

}  // namespace atl::ort
