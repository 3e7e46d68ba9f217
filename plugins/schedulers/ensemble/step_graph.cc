#include "schedulers/ensemble/step_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model_config.pb.h"
#include "schedulers/ensemble/member_checks.h"

namespace atl::ensemble {
namespace {

using Step = inference::ModelEnsembling::Step;
using Names = std::map<std::string, std::string>;  // of a member's tensor to the ensemble's, in their order

class GraphBuilder {
 public:
  GraphBuilder(const inference::ModelConfig& config, std::span<Model* const> members)
      : config_(config), members_(members) {}

  Result<StepGraph> build() {
    const auto& steps = config_.ensemble_scheduling().step();
    if (static_cast<size_t>(steps.size()) != members_.size()) {
      return internal_error("ensemble '", config_.name(), "' has ", steps.size(), " steps and ",
                            members_.size(), " members");
    }
    graph_.ensemble = config_.name();
    graph_.max_inflight_requests = config_.ensemble_scheduling().max_inflight_requests();
    add_ends();
    for (int i = 0; i < steps.size(); ++i) add_step(steps[i], *members_[static_cast<size_t>(i)]);
    ATOLL_RETURN_IF_ERROR(check_members(config_, members_));
    ATOLL_RETURN_IF_ERROR(find_branches());
    for (StepGraph::Tensor& tensor : graph_.tensors) tensor.device_ordered = is_device_ordered(tensor);
    return std::move(graph_);
  }

 private:
  uint32_t tensor(const std::string& name) {
    auto [entry, added] = index_.emplace(name, static_cast<uint32_t>(graph_.tensors.size()));
    if (added) {
      graph_.tensors.emplace_back();
      graph_.tensors.back().name = name;
    }
    return entry->second;
  }

  void add_ends() {
    for (const auto& input : config_.input()) {
      graph_.inputs.push_back(tensor(input.name()));
      graph_.tensors[graph_.inputs.back()].batched = config_.max_batch_size() > 0;
    }
    for (const auto& output : config_.output()) {
      graph_.outputs.push_back(tensor(output.name()));
      graph_.tensors[graph_.outputs.back()].output = static_cast<uint32_t>(graph_.outputs.size() - 1);
    }
  }

  void add_step(const Step& configured, Model& member) {
    const auto index = static_cast<uint32_t>(graph_.steps.size());
    const ModelInfo& info = member.info();
    StepGraph::Step step;
    step.model = &member;
    step.decoupled = info.decoupled;
    step.batches = info.max_batch_size > 0;
    for (const auto& [name, fed_by] : Names(configured.input_map().begin(), configured.input_map().end())) {
      step.inputs.push_back({name, tensor(fed_by), find_spec(info.inputs, name)});
      graph_.tensors[step.inputs.back().tensor].consumers.push_back(index);
    }
    for (const auto& [name, fed] : Names(configured.output_map().begin(), configured.output_map().end())) {
      step.outputs.push_back({name, tensor(fed)});
      graph_.tensors[step.outputs.back().tensor].producer = index;
      graph_.tensors[step.outputs.back().tensor].batched = step.batches;
    }
    graph_.decoupled |= step.decoupled;
    graph_.steps.push_back(std::move(step));
  }

  bool is_device_ordered(const StepGraph::Tensor& tensor) const {
    return tensor.output == kNone && std::ranges::all_of(tensor.consumers, [this](uint32_t step) {
             return graph_.steps[step].model->info().device_ordered;
           });
  }

  /// Follows the tensors from the ensemble's inputs on.
  Status find_branches() {
    std::vector<size_t> missing;
    std::vector<uint32_t> ready = graph_.inputs;
    for (const StepGraph::Step& step : graph_.steps) missing.push_back(step.inputs.size());
    uint32_t branches = 0;
    for (size_t next = 0; next < ready.size(); ++next) {
      for (uint32_t consumer : graph_.tensors[ready[next]].consumers) {
        if (--missing[consumer] != 0) continue;
        StepGraph::Step& step = graph_.steps[consumer];
        uint32_t branch = 0;
        ATOLL_RETURN_IF_ERROR(join_branches(step, &branch));
        if (step.decoupled) branch = ++branches;
        for (const StepGraph::StepOutput& output : step.outputs) {
          graph_.tensors[output.tensor].branch = branch;
          ready.push_back(output.tensor);
        }
      }
    }
    return check_outputs();
  }

  /// A response of the ensemble has all of its outputs, so what they are made of belongs together as a step's inputs do.
  Status check_outputs() const {
    for (uint32_t output : graph_.outputs) {
      if (graph_.tensors[output].branch != graph_.tensors[graph_.outputs.front()].branch)
        return different_branches(graph_.ensemble);
    }
    return {};
  }

  Status different_branches(std::string_view receiver) const {
    return invalid_argument("in ensemble ", graph_.ensemble, ", step of model '", receiver,
                            "' receives inputs originated from different decoupled models");
  }

  /// Which of the values of two branches, or of a branch and of none, belong together, nobody could say.
  Status join_branches(StepGraph::Step& step, uint32_t* branch) {
    *branch = graph_.tensors[step.inputs.front().tensor].branch;
    for (const StepGraph::StepInput& input : step.inputs) {
      if (graph_.tensors[input.tensor].branch == *branch) continue;
      return different_branches(step.model->info().name);
    }
    step.iterates = *branch != 0;
    return {};
  }

  const inference::ModelConfig& config_;
  const std::span<Model* const> members_;
  StepGraph graph_;
  std::map<std::string, uint32_t> index_;
};

}  // namespace

Result<StepGraph> make_graph(const inference::ModelConfig& config, std::span<Model* const> members) {
  return GraphBuilder(config, members).build();
}

}  // namespace atl::ensemble
