#include "backends/triton/triton_backend.h"

#include <exception>
#include <utility>

#include "backends/triton/foreign_instance.h"
#include "backends/triton/library/search.h"

namespace atl::triton {
namespace {

class LoadedModel final : public BackendModel {
 public:
  explicit LoadedModel(std::shared_ptr<ForeignModel> model) noexcept : model_(std::move(model)) {}

  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    return ForeignInstance::create(model_, spec);
  }
  std::vector<MemoryUsage> memory_usage() const noexcept override { return model_->memory_usage(); }

 private:
  std::shared_ptr<ForeignModel> model_;
};

/// The environment that is packed beside a script, where the model names none of its own.
Result<std::string> with_environment(const std::string& bytes, const std::string& environment) {
  inference::ModelConfig config;
  if (!config.ParseFromString(bytes)) return internal_error("the model's configuration cannot be parsed");
  auto& parameter = (*config.mutable_parameters())["EXECUTION_ENV_PATH"];
  if (parameter.string_value().empty()) parameter.set_string_value(environment);
  return config.SerializeAsString();
}

class OpenedModel final : public PendingModel {
 public:
  /// \param environment  empty: none
  OpenedModel(std::shared_ptr<ForeignModel> model, std::string environment) noexcept
      : model_(std::move(model)), environment_(std::move(environment)) {}

  BackendTraits traits() const noexcept override { return model_->backend().traits(); }
  Result<std::string> complete(const ModelSource& source) noexcept override {
    Result<std::string> config = environment_.empty() ? Result<std::string>(source.config)
                                                      : with_environment(source.config, environment_);
    if (!config.ok()) return config;
    ATOLL_RETURN_IF_ERROR(model_->initialize(config.value()));
    return model_->config();
  }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override {
    ATOLL_RETURN_IF_ERROR(model_->set_final_config(source.config));
    return std::unique_ptr<BackendModel>(std::make_unique<LoadedModel>(std::move(model_)));
  }

 private:
  std::shared_ptr<ForeignModel> model_;
  const std::string environment_;
};

LibrarySearch search_for(const TritonOptions& options, const ModelSource& source,
                         const inference::ModelConfig& config) {
  LibrarySearch search;
  search.model = source.name;
  search.backend = config.backend();
  search.runtime = config.runtime();
  search.version_directory = source.version_directory;
  search.model_directory = source.model_directory;
  search.directories = options.directories;
  search.in_models = options.libraries_in_models;
  return search;
}

Status parse(const ModelSource& source, inference::ModelConfig* config) {
  if (config->ParseFromString(source.config)) return {};
  return internal_error("the configuration of model '", source.name, "' cannot be parsed");
}

/// What the standard library throws is a failure of the load.
template <class Function>
auto guarded_load(Function function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& exception) {
    return internal_error(exception.what());
  }
}

}  // namespace

Result<bool> TritonBackend::serves(const ModelSource& source) noexcept {
  return guarded_load([&]() -> Result<bool> {
    inference::ModelConfig config;
    ATOLL_RETURN_IF_ERROR(parse(source, &config));
    Result<LibraryFile> found = find_library(search_for(options_, source, config));
    if (found.ok()) return true;
    if (found.status().code() == Code::kNotFound) return false;
    return std::move(found).status();
  });
}

Result<std::unique_ptr<PendingModel>> TritonBackend::begin_load(const ModelSource& source) noexcept {
  return guarded_load([&]() -> Result<std::unique_ptr<PendingModel>> {
    inference::ModelConfig config;
    ATOLL_RETURN_IF_ERROR(parse(source, &config));
    Result<LibraryFile> found = find_library(search_for(options_, source, config));
    if (!found.ok()) return std::move(found).status();
    const SettingsSource settings{source.auto_complete, found->backend_directory, &source.settings,
                                  &options_.settings};
    // A script's settings are those of what runs it.
    const std::string_view owner = found->script.empty() ? std::string_view(config.backend()) : "python";
    auto backend = backends_.get(*found, config.backend(), settings_json(settings, owner));
    if (!backend.ok()) return std::move(backend).status();
    return std::unique_ptr<PendingModel>(std::make_unique<OpenedModel>(
        std::make_shared<ForeignModel>(std::move(backend).value(), source), found->environment));
  });
}

Result<std::string> TritonBackend::complete_config(const ModelSource& source) noexcept {
  Result<std::unique_ptr<PendingModel>> begun = begin_load(source);
  if (!begun.ok()) return std::move(begun).status();
  return (*begun)->complete(source);
}

Result<std::unique_ptr<BackendModel>> TritonBackend::load(const ModelSource& source) noexcept {
  Result<std::unique_ptr<PendingModel>> begun = begin_load(source);
  if (!begun.ok()) return std::move(begun).status();
  Result<std::string> completed = (*begun)->complete(source);
  if (!completed.ok()) return std::move(completed).status();
  return (*begun)->load(source);
}

}  // namespace atl::triton
