#include "schedulers/ensemble/step_values.h"

#include <algorithm>

#include "schedulers/ensemble/shapes.h"

namespace atl::ensemble {

StepValues::StepValues(const StepGraph& graph, TensorMemory& memory)
    : graph_(graph),
      memory_(memory),
      values_(graph.tensors.size()),
      missing_(graph.steps.size()),
      iterations_(graph.steps.size()) {}

void StepValues::reset() noexcept {
  held_bytes_.store(0, std::memory_order_relaxed);
  most_bytes_.store(0, std::memory_order_relaxed);
}

void StepValues::begin(const Plan& plan, const Request& request) {
  plan_ = &plan;
  std::copy(plan.step_waits.begin(), plan.step_waits.end(), missing_.begin());
  std::fill(iterations_.begin(), iterations_.end(), 0);
  for (uint32_t tensor : graph_.inputs) {
    if (plan.uses[tensor] == 0) continue;
    Value& value = values_[tensor].add(0);
    value.uses = plan.uses[tensor];
    value.empty = true;
  }
  for (const InputTensor& input : request.inputs) {
    Value* value = find(graph_.inputs[static_cast<size_t>(input.spec_index)], 0);
    if (value == nullptr) continue;
    value->empty = false;
    value->datatype = input.datatype;
    value->flags = input.flags & InputTensor::kShared;
    value->shape = input.shape;
    value->buffers = input.buffers;
    value->size_bytes = input.size_bytes;
  }
}

void StepValues::end() noexcept {
  for (TensorValues& values : values_) {
    values.for_each([](Value& value) { let_go(value.kept); });
    values.clear();
  }
}

void StepValues::fill(StepRun& run) {
  const StepGraph::Step& step = graph_.steps[run.step];
  Request& request = run.request;
  for (const StepGraph::StepInput& input : step.inputs) {
    const Value& value = *find(input.tensor, run.iteration);
    if (value.empty) continue;
    InputTensor& made = request.add_input();
    made.name = input.name;
    made.datatype = value.datatype;
    made.flags = value.flags;
    made.shape = shape_for(value.shape, graph_.tensors[input.tensor].batched, step.batches, input.spec->dims,
                           request.arena());
    made.buffers = value.buffers;
    made.size_bytes = value.size_bytes;
    if (value.kept != nullptr && value.kept->sequence.overridden) run.sequence = value.kept->sequence;
  }
  for (const StepGraph::StepOutput& output : step.outputs) {
    if (plan_->uses[output.tensor] == 0 && plan_->direct[output.tensor] == 0) continue;
    request.add_output().name = output.name;
  }
  request.sequence = run.sequence.id;
  request.sequence_flags = run.sequence.flags;
}

void StepValues::release_inputs(const StepRun& run) noexcept {
  for (const StepGraph::StepInput& input : graph_.steps[run.step].inputs) use(input.tensor, run.iteration);
}

uint64_t StepValues::next_iteration(const StepRun& run) noexcept {
  return graph_.steps[run.step].decoupled ? iterations_[run.step]++ : run.iteration;
}

bool StepValues::add(uint32_t tensor, uint64_t iteration, const OutputTensor* output, KeptResponse& kept) {
  const uint32_t uses = iteration == 0 ? plan_->uses[tensor] : plan_->later_uses[tensor];
  if (uses == 0) return false;
  Value& value = values_[tensor].add(iteration);
  value.uses = uses;
  value.empty = output == nullptr;
  if (output == nullptr) return true;
  value.datatype = output->datatype;
  value.shape = output->shape;
  value.buffers = {&output->buffer, 1};
  value.size_bytes = output->buffer.size_bytes;
  value.kept = &kept;
  ++kept.values;
  return true;
}

void StepValues::use(uint32_t tensor, uint64_t iteration) noexcept {
  Value* value = find(tensor, iteration);
  if (value == nullptr || --value->uses != 0) return;
  KeptResponse* kept = value->kept;
  values_[tensor].drop(iteration);
  let_go(kept);
}

bool StepValues::has_all(const StepGraph::Step& step, uint64_t iteration) noexcept {
  return std::all_of(step.inputs.begin(), step.inputs.end(), [&](const StepGraph::StepInput& input) {
    return find(input.tensor, iteration) != nullptr;
  });
}

Status StepValues::allocate(OutputTensor& output, uint64_t size_bytes, MemoryKind kind, int64_t device_id,
                            bool ahead) noexcept {
  ATOLL_RETURN_IF_ERROR(memory_.allocate(output, size_bytes, kind, device_id, ahead));
  const uint64_t held = held_bytes_.fetch_add(size_bytes, std::memory_order_relaxed) + size_bytes;
  uint64_t most = most_bytes_.load(std::memory_order_relaxed);
  while (most < held && !most_bytes_.compare_exchange_weak(most, held, std::memory_order_relaxed)) {
  }
  return {};
}

}  // namespace atl::ensemble
