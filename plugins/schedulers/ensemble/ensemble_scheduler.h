/// The scheduler of ensembles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "atoll/request/scheduler.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/common/instances/inside.h"
#include "schedulers/ensemble/block_pool.h"
#include "schedulers/ensemble/ensemble_run.h"
#include "schedulers/ensemble/entrance.h"
#include "schedulers/ensemble/plan.h"
#include "schedulers/ensemble/step_gates.h"
#include "schedulers/ensemble/step_graph.h"
#include "schedulers/ensemble/tensor_memory.h"

namespace inference {
class ModelConfig;
}

namespace atl::ensemble {

struct EnsembleSettings {
  uint64_t queue_size_max = 65'536;           ///< requests that wait for their turn; 0: any number
  uint64_t tensor_memory_bytes = 0;           ///< between the steps of one ensemble; 0: any
  BlockPool* pool = nullptr;                  ///< never null; outlives the scheduler
  schedulers::StateMemory* memory = nullptr;  ///< likewise
};

class EnsembleScheduler final : public Scheduler {
 public:
  EnsembleScheduler(const SchedulerContext& context, const inference::ModelConfig& config, StepGraph graph,
                    const EnsembleSettings& settings, schedulers::AnswerThread answer_thread);
  ~EnsembleScheduler() override;

  // --- Scheduler ---
  Status enqueue(Request& request) noexcept override;
  void stop_accepting() noexcept override { stopping_.store(true, std::memory_order_relaxed); }
  /// Those that wait at the entrance; the others are their members', and the frontends hold this model for them.
  uint64_t in_flight() const noexcept override { return entrance_.waiting(); }

  // --- by its runs ---
  const StepGraph& graph() const noexcept { return graph_; }
  /// Of requests for all outputs, in their order.
  const Plan& full_plan() const noexcept { return full_plan_; }
  bool batches() const noexcept { return batches_; }
  /// As the steps see it: the configured reshape applied. \param output  of the ensemble
  const std::vector<int64_t>& output_dims(uint32_t output) const noexcept { return output_dims_[output]; }
  TensorMemory& memory() noexcept { return memory_; }
  StepGates& gates() noexcept { return gates_; }
  Entrance& entrance() noexcept { return entrance_; }
  InferenceReporter& reporter() noexcept { return reporter_; }
  const Clock& clock() const noexcept { return clock_; }
  SerialExecutor& answer_thread() noexcept { return *answer_thread_; }
  /// For a thread that may touch the scheduler after the last request has ended.
  schedulers::Inside stay() noexcept { return schedulers::Inside(inside_); }
  /// Runs the steps, what becomes due by their ends, and the requests that may enter.
  void drive(StepList& due) noexcept;
  /// The list of the innermost drive() that this thread is inside of; null: none. What is added to it is run there.
  StepList* running_here() const noexcept;
  /// The run has ended. \param bytes  most that its tensors took
  void run_ended(EnsembleRun& run, uint64_t bytes) noexcept;

 private:
  void run_all(StepList& due) noexcept;
  EnsembleRun& take_run();
  void keep_run(EnsembleRun& run) noexcept;

  const StepGraph graph_;
  const bool batches_;
  std::vector<std::vector<int64_t>> output_dims_;
  Clock& clock_;
  InferenceReporter& reporter_;
  const size_t kept_runs_max_;
  Plan full_plan_;
  TensorMemory memory_;
  StepGates gates_;
  Entrance entrance_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> inside_{0};
  std::mutex mutex_;  ///< guards kept_
  std::vector<std::unique_ptr<EnsembleRun>> kept_;
  schedulers::AnswerThread answer_thread_;
};

}  // namespace atl::ensemble
