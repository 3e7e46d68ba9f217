#include "schedulers/ensemble/plan.h"

#include <algorithm>

namespace atl::ensemble {

void Plan::make(const StepGraph& graph, const std::vector<uint32_t>& requested) {
  step_needed.assign(graph.steps.size(), 0);
  step_waits.assign(graph.steps.size(), 0);
  uses.assign(graph.tensors.size(), 0);
  later_uses.assign(graph.tensors.size(), 0);
  direct.assign(graph.tensors.size(), 0);
  position.assign(graph.tensors.size(), kNone);
  outputs.clear();
  for (uint32_t output : requested) {
    const uint32_t tensor = graph.outputs[output];
    position[tensor] = static_cast<uint32_t>(outputs.size());
    outputs.push_back(tensor);
    add_steps_above(graph, tensor);
  }
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    for (const StepGraph::StepInput& input : graph.steps[i].inputs) {
      step_waits[i] += graph.tensors[input.tensor].producer != kNone;
    }
  }
  count_uses(graph);
  choose_mode(graph);
}

void Plan::add_steps_above(const StepGraph& graph, uint32_t tensor) {
  todo_.assign(1, tensor);
  while (!todo_.empty()) {
    const uint32_t step = graph.tensors[todo_.back()].producer;
    todo_.pop_back();
    if (step == kNone || step_needed[step] != 0) continue;
    step_needed[step] = 1;
    for (const StepGraph::StepInput& input : graph.steps[step].inputs) todo_.push_back(input.tensor);
  }
}

void Plan::count_uses(const StepGraph& graph) {
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    if (step_needed[i] == 0) continue;
    for (const StepGraph::StepInput& input : graph.steps[i].inputs) {
      ++uses[input.tensor];
      later_uses[input.tensor] += graph.steps[i].iterates;
    }
  }
  iterates = std::all_of(outputs.begin(), outputs.end(),
                         [&](uint32_t tensor) { return graph.tensors[tensor].branch != 0; });
}

/// What others read as well cannot be written into the response: that may be gone before they are done.
void Plan::choose_mode(const StepGraph& graph) {
  const auto is_only_written = [&](uint32_t tensor) {
    return uses[tensor] == 0 && graph.tensors[tensor].producer != kNone;
  };
  mode = ResponseMode::kOnce;
  answering_step = kNone;
  if (graph.decoupled) {
    const uint32_t step = outputs.empty() ? kNone : graph.tensors[outputs[0]].producer;
    const bool is_direct = std::all_of(outputs.begin(), outputs.end(), [&](uint32_t tensor) {
      return is_only_written(tensor) && graph.tensors[tensor].producer == step;
    });
    // A step that is executed several times at once would make several responses at once.
    mode = is_direct && !graph.steps[step].iterates ? ResponseMode::kDirect : ResponseMode::kCopied;
    answering_step = step;
  }
  for (uint32_t tensor : outputs) {
    direct[tensor] = mode != ResponseMode::kCopied && is_only_written(tensor);
    if (direct[tensor] != 0) continue;
    ++uses[tensor];
    later_uses[tensor] += iterates;
  }
}

const Plan& ChosenPlan::choose(const StepGraph& graph, const Plan& full, const Request& request) {
  requested_.clear();
  bool all = request.outputs.size() == graph.outputs.size();
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const RequestedOutput& output = request.outputs[i];
    requested_.push_back(static_cast<uint32_t>(output.spec_index));
    all &= output.spec_index == static_cast<int32_t>(i);
  }
  if (!all) own_.make(graph, requested_);
  plan_ = all ? &full : &own_;
  return *plan_;
}

}  // namespace atl::ensemble
