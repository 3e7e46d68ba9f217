#include "backends/onnxruntime/onnx_backend.h"

#include <charconv>
#include <utility>

#include "backends/common/config_view.h"
#include "backends/common/model_file.h"
#include "backends/onnxruntime/autofill.h"

namespace atl::ort {
namespace {

constexpr int64_t kDefaultMaxBatchSize = 4;

Result<int64_t> default_max_batch_size(const ModelSource& source) {
  auto setting = source.settings.find("default-max-batch-size");
  if (setting == source.settings.end()) return kDefaultMaxBatchSize;
  const std::string& text = setting->second;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return invalid_argument("backend setting 'default-max-batch-size': found '", text,
                            "', expected an integer");
  }
  return value;
}

Result<backends::ModelFile> find_onnx_file(const std::string& version_directory, const std::string& name) {
  return backends::find_model_file(version_directory, name.empty() ? "model.onnx" : name, "an ONNX file");
}

/// A session that is only asked what it takes and gives: nothing is optimised and no thread is started.
SessionSettings settings_for_inspection() {
  SessionSettings settings;
  settings.graph_level = ORT_DISABLE_ALL;
  return settings;
}

}  // namespace

BackendTraits OnnxBackend::traits() const noexcept {
  BackendTraits traits;
  traits.preferred_groups = {{InstanceKind::kCpu, 0, {}}};
  return traits;
}

Result<std::string> OnnxBackend::complete_config(const ModelSource& source) noexcept {
  auto view = backends::ConfigView::parse(source.config);
  if (!view.ok()) return std::move(view).status();
  inference::ModelConfig config = view->message();
  if (is_complete(config)) return source.config;
  auto default_size = default_max_batch_size(source);
  if (!default_size.ok()) return std::move(default_size).status();
  auto file = find_onnx_file(source.version_directory, config.default_model_filename());
  if (!file.ok()) return std::move(file).status();
  auto session = open_session(*context_.environment, settings_for_inspection(), config.name(), file->path);
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
  auto session = open_session(*context_.environment, *settings, config.name(), file->path);
  if (!session.ok()) return std::move(session).status();
  auto signature = read_signature(**session);
  if (!signature.ok()) return std::move(signature).status();
  Status fits = check_against_model(config, *signature);
  auto plan = fits.ok() ? make_plan(config, *signature) : Result<ModelPlan>(std::move(fits));
  if (!plan.ok()) {
    return make_status(plan.status().code(), "unable to load model '", config.name(), "', ",
                       plan.status().message());
  }
  return std::unique_ptr<BackendModel>(new OnnxModel(context_, std::move(plan).value(),
                                                     std::move(settings).value(), std::move(file->path),
                                                     file->size_bytes, std::move(session).value()));
}

}  // namespace atl::ort
