#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "configs/pbtxt/checks/bounds.h"
#include "configs/pbtxt/checks/ensemble_graph.h"
#include "configs/pbtxt/checks/validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

void check_forbidden(const ModelConfig& config, Findings& findings) {
  const std::string& name = config.name();
  if (config.platform() != "ensemble") {
    findings.invalid("ensemble_scheduling", "ensemble scheduling cannot be set for model '", name,
                     "' whose platform is not ensemble");
  }
  if (!config.instance_group().empty()) {
    findings.invalid("instance_group[0]", "instance group should not be specified for ensemble '", name, "'");
  }
  if (config.has_optimization()) {
    findings.invalid("optimization", "optimization should not be specified for ensemble '", name, "'");
  }
  if (!config.model_warmup().empty()) {
    findings.invalid("model_warmup[0]", "model_warmup can not be specified for ensemble '", name, "'");
  }
}

void check_step(const ModelConfig& config, int index, Findings& findings) {
  const auto& step = config.ensemble_scheduling().step(index);
  std::string field = cat("ensemble_scheduling.step[", index, "]");
  auto missing = [&](const char* what) {
    findings.invalid(field, "must specify '", what, "' in step ", index, " of ensemble '", config.name(),
                     "'");
  };
  if (step.model_name().empty()) missing("model_name");
  if (step.input_map().empty()) missing("input_map");
  if (step.output_map().empty()) missing("output_map");
  if (!step.model_name().empty() && step.model_name() == config.name()) {
    findings.invalid(field, "circular dependency between ensembles: ", config.name(), " -> ... -> ",
                     config.name(), " -> ", config.name());
  }
  if (step.model_version() < -1) {
    findings.invalid(field + ".model_version", "'model_version' in step ", index, " of ensemble '",
                     config.name(), "' is ", step.model_version(),
                     ", expected a version or -1 for the latest");
  }
}

/// Adds the steps; a tensor has one writer, and the ensemble's own inputs come from the request.
void build(const ModelConfig& config, EnsembleGraph* graph, Findings& findings) {
  std::set<std::string> inputs;
  for (const auto& input : config.input()) inputs.insert(input.name());
  for (int i = 0; i < config.ensemble_scheduling().step_size(); ++i) {
    check_step(config, i, findings);
    const auto& step = config.ensemble_scheduling().step(i);
    auto twice = [&](const std::string& tensor) {
      findings.invalid(cat("ensemble_scheduling.step[", i, "]"), "ensemble tensor '", tensor,
                       "' can appear in an output map only once for ensemble '", config.name(), "' step ", i);
    };
    uint32_t written = graph->add_step(step);
    if (written != EnsembleGraph::kNone) twice(graph->tensor(written).name);
    for (const auto& [member, tensor] : step.output_map()) {
      if (inputs.contains(tensor)) twice(tensor);
    }
  }
}

/// The tensors that the request brings and takes; all of them must be in the graph.
void find_ends(const ModelConfig& config, const EnsembleGraph& graph, std::vector<uint32_t>* inputs,
               std::vector<uint32_t>* outputs, Findings& findings) {
  for (int i = 0; i < config.input_size(); ++i) {
    inputs->push_back(graph.find(config.input(i).name()));
    if (inputs->back() != EnsembleGraph::kNone) continue;
    findings.invalid(cat("input[", i, "]"), "ensemble input '", config.input(i).name(), "' for ensemble ",
                     config.name(), "' is not used");
  }
  for (int i = 0; i < config.output_size(); ++i) {
    outputs->push_back(graph.find(config.output(i).name()));
    if (outputs->back() != EnsembleGraph::kNone) continue;
    findings.invalid(cat("output[", i, "]"), "ensemble output '", config.output(i).name(), "' for ensemble ",
                     config.name(), "' is not used");
  }
}

/// "; steps 0 and 2 wait for each other"; empty: they do not.
std::string circle_text(const EnsembleGraph& graph, uint32_t tensor) {
  if (graph.tensor(tensor).ready) return "";
  std::vector<uint32_t> steps = graph.circle_above(tensor);
  std::sort(steps.begin(), steps.end());
  if (steps.size() == 1) return cat("; step ", steps[0], " waits for its own output");
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i)
    text += cat(i == 0 ? "; steps " : i + 1 == steps.size() ? " and " : ", ", steps[i]);
  return text.empty() ? text : text + " wait for each other";
}

void check_written(const ModelConfig& config, const EnsembleGraph& graph,
                   const std::vector<uint32_t>& outputs, Findings& findings) {
  for (size_t i = 0; i < outputs.size() && !findings.full(); ++i) {
    const auto& tensor = graph.tensor(outputs[i]);
    if (tensor.ready) continue;
    std::string text = cat("output '", tensor.name, "' for ensemble '", config.name(), "' is not written");
    uint32_t missing = graph.missing_ancestor(outputs[i]);
    if (missing != EnsembleGraph::kNone) {
      text += cat(": at least one of its depending tensors, '", graph.tensor(missing).name,
                  "', is not connected");
    }
    findings.invalid(cat("output[", i, "]"), text, circle_text(graph, outputs[i]));
  }
}

void check_used(const ModelConfig& config, const EnsembleGraph& graph, const std::vector<uint32_t>& outputs,
                Findings& findings) {
  std::vector<bool> is_output(graph.size());
  for (uint32_t output : outputs) is_output[output] = true;
  for (uint32_t index : graph.by_name()) {
    const auto& tensor = graph.tensor(index);
    if (tensor.ready && (is_output[index] || !tensor.consumers.empty())) continue;
    uint32_t step = tensor.producer != EnsembleGraph::kNone ? tensor.producer : tensor.consumers.front();
    findings.invalid(cat("ensemble_scheduling.step[", step, "]"), "ensemble tensor '", tensor.name,
                     "' is unused in ensemble '", config.name(), "'", circle_text(graph, index));
  }
}

}  // namespace

void validate_ensemble(const ModelConfig& config, Findings& findings) {
  check_forbidden(config, findings);
  const int steps = config.ensemble_scheduling().step_size();
  if (steps == 0) {
    return findings.invalid("ensemble_scheduling", "must specify 'step' for ensemble '", config.name(), "'");
  }
  if (steps > kEnsembleStepsMax) {
    return findings.invalid(cat("ensemble_scheduling.step[", kEnsembleStepsMax, "]"), "ensemble '",
                            config.name(), "' has ", steps, " steps, expected at most ", kEnsembleStepsMax);
  }
  // Each of these builds on the one before: of a graph that is wrong already, more would be noise.
  const size_t before = findings.count();
  EnsembleGraph graph;
  std::vector<uint32_t> inputs, outputs;
  build(config, &graph, findings);
  if (findings.count() == before) find_ends(config, graph, &inputs, &outputs, findings);
  if (findings.count() != before) return;
  graph.propagate(inputs);
  check_written(config, graph, outputs, findings);
  if (findings.count() == before) check_used(config, graph, outputs, findings);
}

}  // namespace atl::pbtxt
