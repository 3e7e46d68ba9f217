#include "configs/pbtxt/checks/ensemble_graph.h"

#include <algorithm>
#include <set>

namespace atl::pbtxt {

uint32_t EnsembleGraph::find(const std::string& name) const {
  auto found = index_.find(name);
  return found == index_.end() ? kNone : found->second;
}

std::vector<uint32_t> EnsembleGraph::by_name() const {
  std::vector<uint32_t> order;
  for (const auto& [name, index] : index_) order.push_back(index);
  return order;
}

uint32_t EnsembleGraph::intern(const std::string& name) {
  auto [entry, added] = index_.emplace(name, static_cast<uint32_t>(tensors_.size()));
  if (added) tensors_.push_back({name, kNone, {}, false});
  return entry->second;
}

uint32_t EnsembleGraph::add_step(const inference::ModelEnsembling::Step& step) {
  auto step_index = static_cast<uint32_t>(steps_.size());
  steps_.emplace_back();
  std::vector<std::string> outputs;
  for (const auto& [member, tensor] : step.output_map()) outputs.push_back(tensor);
  std::sort(outputs.begin(), outputs.end());
  for (const std::string& name : outputs) {
    uint32_t index = intern(name);
    if (tensors_[index].producer != kNone) return index;
    tensors_[index].producer = step_index;
    steps_.back().outputs.push_back(index);
  }
  std::set<std::string> inputs;
  for (const auto& [member, tensor] : step.input_map()) inputs.insert(tensor);
  for (const std::string& name : inputs) {
    uint32_t index = intern(name);
    tensors_[index].consumers.push_back(step_index);
    steps_.back().inputs.push_back(index);
  }
  return kNone;
}

void EnsembleGraph::propagate(const std::vector<uint32_t>& inputs) {
  std::vector<size_t> waiting;
  for (const Step& step : steps_) waiting.push_back(step.inputs.size());
  std::vector<uint32_t> queue;
  auto make_ready = [&](uint32_t index) {
    if (tensors_[index].ready) return;
    tensors_[index].ready = true;
    queue.push_back(index);
  };
  for (uint32_t index : inputs) make_ready(index);
  for (size_t next = 0; next < queue.size(); ++next) {
    for (uint32_t step : tensors_[queue[next]].consumers) {
      if (--waiting[step] != 0) continue;
      for (uint32_t output : steps_[step].outputs) make_ready(output);
    }
  }
}

uint32_t EnsembleGraph::missing_ancestor(uint32_t tensor) const {
  std::vector<uint32_t> queue = {tensor};
  std::vector<bool> seen(tensors_.size());
  seen[tensor] = true;
  for (size_t next = 0; next < queue.size(); ++next) {
    uint32_t producer = tensors_[queue[next]].producer;
    bool explained = false;
    if (producer != kNone) {
      for (uint32_t input : steps_[producer].inputs) {
        if (tensors_[input].ready) continue;
        explained = true;
        if (seen[input]) continue;
        seen[input] = true;
        queue.push_back(input);
      }
    }
    if (!explained && queue[next] != tensor) return queue[next];
  }
  return queue.size() > 1 ? queue[1] : kNone;  // a cycle: its members explain each other
}

std::vector<uint32_t> EnsembleGraph::circle_above(uint32_t tensor) const {
  std::vector<uint32_t> walked;
  std::vector<bool> seen(steps_.size());
  while (true) {
    const uint32_t step = tensors_[tensor].producer;
    if (step == kNone) return {};
    if (seen[step]) {
      walked.erase(walked.begin(), std::find(walked.begin(), walked.end(), step));
      return walked;
    }
    seen[step] = true;
    walked.push_back(step);
    // Where nobody makes an input, that is what is missing.
    uint32_t next = kNone;
    for (uint32_t input : steps_[step].inputs) {
      if (tensors_[input].ready) continue;
      if (tensors_[input].producer == kNone) return {};
      if (next == kNone) next = input;
    }
    if (next == kNone) return {};
    tensor = next;
  }
}

}  // namespace atl::pbtxt
