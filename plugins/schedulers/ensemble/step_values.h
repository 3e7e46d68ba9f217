/// The values that the steps of one request exchange.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedulers/ensemble/plan.h"
#include "schedulers/ensemble/step_run.h"
#include "schedulers/ensemble/tensor_memory.h"
#include "schedulers/ensemble/tensor_values.h"

namespace atl::ensemble {

/// They are kept, where the members wrote them, until the last step that reads them has ended. Belongs to a run,
/// whose lock is held but for allocate() and free().
class StepValues {
 public:
  /// Both outlive this.
  StepValues(const StepGraph& graph, TensorMemory& memory);

  /// For the next request. [nobody else knows it]
  void reset() noexcept;
  /// Has the inputs of the request from now on. \param plan  outlives the use
  void begin(const Plan& plan, const Request& request);
  /// Lets go of all of them.
  void end() noexcept;

  // --- steps ---
  /// Whether the step is wanted, and all of its inputs of the first iteration are there.
  bool are_there_for(uint32_t step) const noexcept {
    return plan_->step_needed[step] != 0 && missing_[step] == 0;
  }
  /// The request's inputs and outputs, and the sequence that goes on with them.
  void fill(StepRun& run);
  /// The step has ended, and does not read its inputs any more.
  void release_inputs(const StepRun& run) noexcept;
  /// Of what a response of the step brings.
  uint64_t next_iteration(const StepRun& run) noexcept;

  // --- values ---
  /// Null: it has not come yet, or is gone.
  Value* find(uint32_t tensor, uint64_t iteration) noexcept { return values_[tensor].find(iteration); }
  /// One that was written elsewhere is there.
  void add(uint32_t tensor, uint64_t iteration) { values_[tensor].add(iteration); }
  /// \param output  null: the member left it out \returns false: nobody reads it, and it is not kept
  bool add(uint32_t tensor, uint64_t iteration, const OutputTensor* output, KeptResponse& kept);
  /// Calls it with each step that has waited for this value, and for no other.
  template <class Each>
  void for_each_due(uint32_t tensor, uint64_t iteration, Each&& each);
  /// One of its readers has read it.
  void use(uint32_t tensor, uint64_t iteration) noexcept;
  /// One of the kept response's values is gone. Null is allowed.
  static void let_go(KeptResponse* kept) noexcept {
    if (kept != nullptr && --kept->values == 0) kept->response->sink->discard(kept->response);
  }

  // --- their memory [any] ---
  /// As TensorMemory::allocate().
  Status allocate(OutputTensor& output, uint64_t size_bytes, MemoryKind kind, int64_t device_id,
                  bool ahead) noexcept;
  void free(OutputTensor& output) noexcept {
    held_bytes_.fetch_sub(memory_.free(output), std::memory_order_relaxed);
  }
  /// Most that they have taken at once.
  uint64_t most_bytes() const noexcept { return most_bytes_.load(std::memory_order_relaxed); }

 private:
  bool has_all(const StepGraph::Step& step, uint64_t iteration) noexcept;

  const StepGraph& graph_;
  TensorMemory& memory_;
  const Plan* plan_ = nullptr;
  std::vector<TensorValues> values_;
  std::vector<uint32_t> missing_;     ///< by step: inputs of iteration 0 that have not come
  std::vector<uint64_t> iterations_;  ///< by step: responses of a decoupled one
  std::atomic<uint64_t> held_bytes_{0}, most_bytes_{0};
};

template <class Each>
void StepValues::for_each_due(uint32_t tensor, uint64_t iteration, Each&& each) {
  uint32_t before = kNone;
  for (uint32_t step : graph_.tensors[tensor].consumers) {
    const bool again = std::exchange(before, step) == step;
    if (plan_->step_needed[step] == 0) continue;
    if (iteration == 0 ? --missing_[step] == 0 : !again && has_all(graph_.steps[step], iteration)) each(step);
  }
}

}  // namespace atl::ensemble
