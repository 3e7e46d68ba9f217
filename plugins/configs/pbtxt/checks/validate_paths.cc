#include <string>
#include <string_view>

#include "configs/pbtxt/checks/validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

/// True for a relative path that cannot climb: no "..", no NUL.
bool is_inner_path(std::string_view path) {
  if (path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  while (!path.empty()) {
    size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return false;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return true;
}

/// True for one path component, as library and folder names are.
bool is_plain_name(std::string_view name) {
  return name != "." && is_inner_path(name) && name.find('/') == std::string_view::npos;
}

/// The model directory that a configuration was read from, with a slash behind it; empty if that is not
/// known.
std::string model_directory(const SourceMap& source) {
  constexpr std::string_view kConfigs = "/configs/";
  std::string directory = source.path().substr(0, source.path().rfind('/') + 1);
  if (directory.ends_with(kConfigs)) directory.resize(directory.size() - kConfigs.size() + 1);
  return directory;
}

class PathRules {
 public:
  PathRules(const ModelConfig& config, Findings& findings) : config_(config), findings_(findings) {}

  void inner(const std::string& field, const std::string& value) const {
    if (is_inner_path(value)) return;
    findings_.invalid(field, "'", field, "' of model '", config_.name(), "' is '", value,
                      "', expected a relative path without '..'");
  }
  void plain(const std::string& field, const std::string& value) const {
    if (is_plain_name(value)) return;
    findings_.invalid(field, "'", field, "' of model '", config_.name(), "' is '", value,
                      "', expected a name without path");
  }
  void runtime() const {
    if (is_plain_name(config_.runtime())) return;
    findings_.invalid("runtime", "backend library name '", config_.runtime(),
                      "' escapes backend directory of backend '", config_.backend(), "', for model '",
                      config_.name(), "', check model config runtime field");
  }
  void label_file(const std::string& field, const inference::ModelOutput& output) const {
    if (is_inner_path(output.label_filename())) return;
    findings_.add(field, unimplemented("label file path '", model_directory(findings_.source()),
                                       output.label_filename(), "' for output '", output.name(),
                                       "' in model '", config_.name(), "' is outside model directory"));
  }
  void batch_strategy() const {
    auto strategy = config_.parameters().find("TRITON_BATCH_STRATEGY_PATH");
    if (strategy == config_.parameters().end()) return;
    if (config_.has_sequence_batching()) {
      findings_.invalid("parameters",
                        "TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using default "
                        "batching strategy");
    } else if (!is_inner_path(strategy->second.string_value())) {
      findings_.invalid("parameters", "parameter 'TRITON_BATCH_STRATEGY_PATH' of model '", config_.name(),
                        "' is '", strategy->second.string_value(),
                        "', expected a relative path without '..'");
    }
  }

 private:
  const ModelConfig& config_;
  Findings& findings_;
};

void check_data_files(const ModelConfig& config, const PathRules& rules) {
  const auto& states = config.sequence_batching().state();
  for (int i = 0; i < states.size(); ++i) {
    for (int k = 0; k < states[i].initial_state_size(); ++k) {
      rules.inner(cat("sequence_batching.state[", i, "].initial_state[", k, "].data_file"),
                  states[i].initial_state(k).data_file());
    }
  }
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    for (const auto& [name, input] : config.model_warmup(i).inputs()) {
      rules.inner(cat("model_warmup[", i, "].inputs"), input.input_data_file());
    }
  }
}

}  // namespace

void validate_paths(const ModelConfig& config, Findings& findings) {
  PathRules rules(config, findings);
  rules.plain("backend", config.backend());
  rules.runtime();
  rules.inner("default_model_filename", config.default_model_filename());
  for (const auto& [capability, file] : config.cc_model_filenames()) rules.inner("cc_model_filenames", file);
  for (int i = 0; i < config.output_size(); ++i) {
    rules.label_file(cat("output[", i, "].label_filename"), config.output(i));
  }
  rules.batch_strategy();
  const auto& agents = config.model_repository_agents().agents();
  for (int i = 0; i < agents.size(); ++i) {
    rules.plain(cat("model_repository_agents.agents[", i, "].name"), agents[i].name());
  }
  check_data_files(config, rules);
}

}  // namespace atl::pbtxt
