#include <set>
#include <string>
#include <vector>

#include "bounds.h"
#include "ensemble_graph.h"
#include "validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

Status check_forbidden(const ModelConfig& config, const SourceMap& source) {
  const std::string& name = config.name();
  if (config.platform() != "ensemble") {
    return source.invalid("ensemble_scheduling", "ensemble scheduling cannot be set for model '", name,
                          "' whose platform is not ensemble");
  }
  if (!config.instance_group().empty()) {
    return source.invalid("instance_group[0]", "instance group should not be specified for ensemble '", name,
                          "'");
  }
  if (config.has_optimization()) {
    return source.invalid("optimization", "optimization should not be specified for ensemble '", name, "'");
  }
  if (!config.model_warmup().empty()) {
    return source.invalid("model_warmup[0]", "model_warmup can not be specified for ensemble '", name, "'");
  }
  if (config.ensemble_scheduling().step().empty()) {
    return source.invalid("ensemble_scheduling", "must specify 'step' for ensemble '", name, "'");
  }
  int steps = config.ensemble_scheduling().step_size();
  if (steps > kEnsembleStepsMax) {
    return source.invalid(cat("ensemble_scheduling.step[", kEnsembleStepsMax, "]"), "ensemble '", name,
                          "' has ", steps, " steps, expected at most ", kEnsembleStepsMax);
  }
  return {};
}

Status check_step(const ModelConfig& config, int index, const SourceMap& source) {
  const auto& step = config.ensemble_scheduling().step(index);
  std::string field = cat("ensemble_scheduling.step[", index, "]");
  auto missing = [&](const char* what) {
    return source.invalid(field, "must specify '", what, "' in step ", index, " of ensemble '", config.name(),
                          "'");
  };
  if (step.model_name().empty()) return missing("model_name");
  if (step.input_map().empty()) return missing("input_map");
  if (step.output_map().empty()) return missing("output_map");
  if (step.model_name() == config.name()) {
    return source.invalid(field, "circular dependency between ensembles: ", config.name(), " -> ",
                          config.name());
  }
  return {};
}

/// Adds the steps; a tensor has one writer, and the ensemble's own inputs come from the request.
Status build(const ModelConfig& config, const SourceMap& source, EnsembleGraph* graph) {
  std::set<std::string> inputs;
  for (const auto& input : config.input()) inputs.insert(input.name());
  for (int i = 0; i < config.ensemble_scheduling().step_size(); ++i) {
    ATOLL_RETURN_IF_ERROR(check_step(config, i, source));
    const auto& step = config.ensemble_scheduling().step(i);
    auto twice = [&](const std::string& tensor) {
      return source.invalid(cat("ensemble_scheduling.step[", i, "]"), "ensemble tensor '", tensor,
                            "' can appear in an output map only once for ensemble '", config.name(),
                            "' step ", i);
    };
    uint32_t written = graph->add_step(step);
    if (written != EnsembleGraph::kNone) return twice(graph->tensor(written).name);
    for (const auto& [member, tensor] : step.output_map()) {
      if (inputs.contains(tensor)) return twice(tensor);
    }
  }
  return {};
}

Status find_ends(const ModelConfig& config, const SourceMap& source, const EnsembleGraph& graph,
                 std::vector<uint32_t>* inputs, std::vector<uint32_t>* outputs) {
  for (int i = 0; i < config.input_size(); ++i) {
    inputs->push_back(graph.find(config.input(i).name()));
    if (inputs->back() != EnsembleGraph::kNone) continue;
    return source.invalid(cat("input[", i, "]"), "ensemble input '", config.input(i).name(),
                          "' for ensemble ", config.name(), "' is not used");
  }
  for (int i = 0; i < config.output_size(); ++i) {
    outputs->push_back(graph.find(config.output(i).name()));
    if (outputs->back() != EnsembleGraph::kNone) continue;
    return source.invalid(cat("output[", i, "]"), "ensemble output '", config.output(i).name(),
                          "' for ensemble ", config.name(), "' is not used");
  }
  return {};
}

}  // namespace

Status validate_ensemble(const ModelConfig& config, const SourceMap& source) {
  ATOLL_RETURN_IF_ERROR(check_forbidden(config, source));
  EnsembleGraph graph;
  ATOLL_RETURN_IF_ERROR(build(config, source, &graph));
  std::vector<uint32_t> inputs, outputs;
  ATOLL_RETURN_IF_ERROR(find_ends(config, source, graph, &inputs, &outputs));
  graph.propagate(inputs);

  std::vector<bool> is_output(graph.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    is_output[outputs[i]] = true;
    const auto& tensor = graph.tensor(outputs[i]);
    if (tensor.ready) continue;
    std::string text = cat("output '", tensor.name, "' for ensemble '", config.name(), "' is not written");
    uint32_t missing = graph.missing_ancestor(outputs[i]);
    if (missing != EnsembleGraph::kNone) {
      text += cat(": at least one of its depending tensors, '", graph.tensor(missing).name,
                  "', is not connected");
    }
    return source.invalid(cat("output[", i, "]"), text);
  }
  for (uint32_t index : graph.by_name()) {
    const auto& tensor = graph.tensor(index);
    if (tensor.ready && (is_output[index] || !tensor.consumers.empty())) continue;
    uint32_t step = tensor.producer != EnsembleGraph::kNone ? tensor.producer : tensor.consumers.front();
    return source.invalid(cat("ensemble_scheduling.step[", step, "]"), "ensemble tensor '", tensor.name,
                          "' is unused in ensemble '", config.name(), "'");
  }
  return {};
}

}  // namespace atl::pbtxt
