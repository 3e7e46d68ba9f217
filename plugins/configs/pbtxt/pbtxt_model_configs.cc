#include "configs/pbtxt/pbtxt_model_configs.h"

#include "atoll/core/guarded.h"
#include "atoll/proto/model_config_json.h"
#include "atoll/proto/parse_model_config.h"
#include "configs/pbtxt/checks/check_values.h"
#include "configs/pbtxt/checks/validate.h"
#include "configs/pbtxt/derive.h"
#include "configs/pbtxt/instance_groups.h"
#include "configs/pbtxt/normalise.h"
#include "configs/pbtxt/serialize.h"
#include "configs/pbtxt/versions.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

Result<ModelConfig> from_bytes(std::string_view bytes) {
  ModelConfig config;
  if (!proto::parse_model_config(bytes, &config)) {
    return invalid_argument("the configuration is not a serialized inference.ModelConfig");
  }
  return config;
}

/// What a client gave.
Result<ModelConfig> from_json(std::string_view json) {
  auto bytes = proto::model_config_from_json(json);
  if (!bytes.ok()) return invalid_argument("Invalid config override: ", bytes.status().message());
  auto config = from_bytes(*bytes);
  if (config.ok()) ATOLL_RETURN_IF_ERROR(check_values(*config, SourceMap()));
  return config;
}

}  // namespace

Result<ParsedText> PbtxtModelConfigs::parse_file(const RepositoryModel& model, bool strict) const {
  if (!model.config_path.empty()) {
    return parse_text(model.config_path, model.config_text, settings().unknown_fields);
  }
  if (strict) {
    return not_found("model configuration is not provided for model '", model.entry.name, "'");
  }
  return ParsedText();
}

Status PbtxtModelConfigs::validate(const ModelConfig& config, const SourceMap& source) const {
  ATOLL_RETURN_IF_ERROR(validate_model(config, source));
  return validate_instance_counts(config, settings().instances_max, source);
}

namespace {

/// Further mistakes of one configuration that the log names, a line for each.
constexpr size_t kToldMax = 20;

/// Whether the model's repository was registered with another name for the directory.
bool is_named_otherwise(const RepositoryEntry& entry) {
  return !entry.repository.empty() && !entry.path.ends_with(cat("/", entry.name));
}

/// Finds the mistakes that the next load would tell, after those found so far are mended.
void find_later_mistakes(const ModelConfig& config, bool strict, const GroupLimits& limits,
                         Findings& findings) {
  const bool is_ensemble = config.has_ensemble_scheduling() || config.platform() == "ensemble";
  if (strict || is_ensemble || !may_replace_tensors(config.backend())) validate_complete(config, findings);
  if (!is_ensemble) validate_unsettled_groups(config, limits, findings);
}

}  // namespace

Result<std::string> PbtxtModelConfigs::complete(const RepositoryModel& model, ParsedText parsed, bool strict,
                                                Log* log) const {
  ModelConfig& config = parsed.config;
  const SourceMap& source = parsed.source;
  const Settings settings = this->settings();
  Findings findings(source);
  Status derived = derive(model, source, &config);
  // Without a backend the rules would say a second time that there is none.
  if (!derived.ok()) config.set_backend("unknown");
  if (is_named_otherwise(model.entry)) config.set_name(model.entry.name);
  check_values(config, findings);  // the directory's name came in
  normalise(&config);
  validate_model(config, findings);
  validate_instance_counts(config, settings.instances_max, findings);
  if (config.name() != model.entry.name) {
    findings.invalid("name", "unexpected directory name '", model.entry.name, "' for model '", config.name(),
                     "', directory name must equal model name");
  }
  if (strict) validate_complete(config, findings);
  if (derived.ok() && findings.list().empty()) return serialize(config);
  if (log != nullptr) {
    find_later_mistakes(config, strict, {settings.instances_max, settings.min_compute_capability}, findings);
    const size_t told_by_failure = derived.ok() ? 1 : 0;
    for (size_t i = told_by_failure; i < findings.list().size() && i < kToldMax; ++i) {
      log->error("the configuration of model '", model.entry.name,
                 "' has a further mistake: ", findings.list()[i].status.text());
    }
    if (findings.count() > kToldMax)
      log->error("the configuration of model '", model.entry.name, "' has ", findings.count() - kToldMax,
                 " more mistakes; atoll-config check lists them");
  }
  return derived.ok() ? findings.first() : std::move(derived);
}

Result<std::string> PbtxtModelConfigs::read(const RepositoryModel& model, bool strict) noexcept {
  return guarded("reading the model configuration", [&]() -> Result<std::string> {
    auto parsed = parse_file(model, strict);
    if (!parsed.ok()) return std::move(parsed).status();
    if (log_ != nullptr) {
      for (const std::string& warning : parsed->warnings) log_->warning(warning, ", ignored");
    }
    return complete(model, std::move(parsed).value(), strict, log_);
  });
}

Result<std::string> PbtxtModelConfigs::read_json(const RepositoryModel& model, std::string_view json,
                                                 bool strict) noexcept {
  return guarded("reading the model configuration", [&]() -> Result<std::string> {
    ParsedText parsed;
    auto config = from_json(json);
    if (!config.ok()) return std::move(config).status();
    parsed.config = std::move(config).value();
    return complete(model, std::move(parsed), strict, nullptr);
  });
}

/// Of unknown fields read() tells.
Result<std::string> PbtxtModelConfigs::parse(const RepositoryModel& model) noexcept {
  return guarded("reading the model configuration", [&]() -> Result<std::string> {
    auto parsed = parse_file(model, false);
    if (!parsed.ok()) return std::move(parsed).status();
    return serialize(parsed->config);
  });
}

Result<std::string> PbtxtModelConfigs::parse_json(const RepositoryModel& /*model*/,
                                                  std::string_view json) noexcept {
  return guarded("reading the model configuration", [&]() -> Result<std::string> {
    auto config = from_json(json);
    if (!config.ok()) return std::move(config).status();
    return serialize(*config);
  });
}

Result<std::string> PbtxtModelConfigs::finish(std::string_view bytes) noexcept {
  return guarded("reading the model configuration", [&]() -> Result<std::string> {
    auto config = from_bytes(bytes);
    if (!config.ok()) return std::move(config).status();
    const SourceMap nowhere;
    ATOLL_RETURN_IF_ERROR(check_values(*config, nowhere));
    normalise(&*config);
    ATOLL_RETURN_IF_ERROR(validate(*config, nowhere));
    ATOLL_RETURN_IF_ERROR(validate_complete(*config, nowhere));
    return serialize(*config);
  });
}

Result<std::string> PbtxtModelConfigs::finish_instance_groups(std::string_view bytes,
                                                              const BackendTraits& traits,
                                                              std::span<const int32_t> usable_gpus) noexcept {
  return guarded("reading the model configuration", [&]() -> Result<std::string> {
    auto config = from_bytes(bytes);
    if (!config.ok()) return std::move(config).status();
    if (config->platform() == "ensemble") return std::string(bytes);
    GpuSet gpus(usable_gpus.begin(), usable_gpus.end());
    normalise_instance_groups(traits, gpus, &*config);
    const Settings settings = this->settings();
    const GroupLimits limits{settings.instances_max, settings.min_compute_capability};
    ATOLL_RETURN_IF_ERROR(validate_instance_groups(*config, gpus, limits));
    return serialize(*config);
  });
}

Result<std::vector<RepositoryVersion>> PbtxtModelConfigs::select_versions(
    std::string_view bytes, const RepositoryModel& model, std::vector<std::string>* warnings) noexcept {
  using Versions = std::vector<RepositoryVersion>;
  return guarded("reading the model configuration", [&]() -> Result<Versions> {
    auto config = from_bytes(bytes);
    if (!config.ok()) return std::move(config).status();
    return pbtxt::select_versions(*config, model.versions, warnings);
  });
}

}  // namespace atl::pbtxt
