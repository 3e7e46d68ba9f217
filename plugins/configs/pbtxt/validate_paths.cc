#include <string>
#include <string_view>

#include "validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

/// True for a relative path that can not climb: no "..", no NUL.
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

class PathRules {
 public:
  PathRules(const ModelConfig& config, const SourceMap& source) : config_(config), source_(source) {}

  Status inner(const std::string& field, const std::string& value) const {
    if (is_inner_path(value)) return {};
    return source_.invalid(field, "'", field, "' of model '", config_.name(), "' is '", value,
                           "', expected a relative path without '..'");
  }
  Status plain(const std::string& field, const std::string& value) const {
    if (is_plain_name(value)) return {};
    return source_.invalid(field, "'", field, "' of model '", config_.name(), "' is '", value,
                           "', expected a name without path");
  }
  Status label_file(const std::string& field, const inference::ModelOutput& output) const {
    if (is_inner_path(output.label_filename())) return {};
    return source_.at(
        field, unimplemented("label file path '", output.label_filename(), "' for output '", output.name(),
                             "' in model '", config_.name(), "' is outside model directory"));
  }

 private:
  const ModelConfig& config_;
  const SourceMap& source_;
};

Status check_data_files(const ModelConfig& config, const PathRules& rules) {
  const auto& states = config.sequence_batching().state();
  for (int i = 0; i < states.size(); ++i) {
    for (int k = 0; k < states[i].initial_state_size(); ++k) {
      ATOLL_RETURN_IF_ERROR(
          rules.inner(cat("sequence_batching.state[", i, "].initial_state[", k, "].data_file"),
                      states[i].initial_state(k).data_file()));
    }
  }
  for (int i = 0; i < config.model_warmup_size(); ++i) {
    for (const auto& [name, input] : config.model_warmup(i).inputs()) {
      ATOLL_RETURN_IF_ERROR(rules.inner(cat("model_warmup[", i, "].inputs"), input.input_data_file()));
    }
  }
  return {};
}

}  // namespace

Status validate_paths(const ModelConfig& config, const SourceMap& source) {
  PathRules rules(config, source);
  ATOLL_RETURN_IF_ERROR(rules.plain("backend", config.backend()));
  ATOLL_RETURN_IF_ERROR(rules.plain("runtime", config.runtime()));
  ATOLL_RETURN_IF_ERROR(rules.inner("default_model_filename", config.default_model_filename()));
  for (const auto& [capability, file] : config.cc_model_filenames()) {
    ATOLL_RETURN_IF_ERROR(rules.inner("cc_model_filenames", file));
  }
  for (int i = 0; i < config.output_size(); ++i) {
    ATOLL_RETURN_IF_ERROR(rules.label_file(cat("output[", i, "].label_filename"), config.output(i)));
  }
  auto strategy = config.parameters().find("TRITON_BATCH_STRATEGY_PATH");
  if (strategy != config.parameters().end() && config.has_sequence_batching()) {
    return source.invalid(
        "parameters",
        "TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using default "
        "batching strategy");
  }
  if (strategy != config.parameters().end() && !is_inner_path(strategy->second.string_value())) {
    return source.invalid("parameters", "parameter 'TRITON_BATCH_STRATEGY_PATH' of model '", config.name(),
                          "' is '", strategy->second.string_value(),
                          "', expected a relative path without '..'");
  }
  const auto& agents = config.model_repository_agents().agents();
  for (int i = 0; i < agents.size(); ++i) {
    ATOLL_RETURN_IF_ERROR(rules.plain(cat("model_repository_agents.agents[", i, "].name"), agents[i].name()));
  }
  return check_data_files(config, rules);
}

}  // namespace atl::pbtxt
