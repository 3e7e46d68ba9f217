/// One request's way through an ensemble.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/request/cancellation.h"
#include "atoll/request/request.h"
#include "schedulers/ensemble/plan.h"
#include "schedulers/ensemble/step_list.h"
#include "schedulers/ensemble/step_run.h"
#include "schedulers/ensemble/tensor_values.h"

namespace atl::ensemble {

class EnsembleScheduler;

/// Steps run as soon as their inputs are there, at the same time where they can; their outputs are kept, where the
/// members wrote them, until the last step that reads them has ended. A failure ends the request when the steps that
/// run have ended. Used again and again by its scheduler. [any] Whoever brings an event about gets the steps that
/// are due by it and runs them, with no lock held.
class EnsembleRun final : private CancelListener {
 public:
  explicit EnsembleRun(EnsembleScheduler& ensemble);
  EnsembleRun(const EnsembleRun&) = delete;
  EnsembleRun& operator=(const EnsembleRun&) = delete;
  virtual ~EnsembleRun();

  EnsembleRun* next = nullptr;  ///< link for whoever queues it

  // --- by the scheduler ---
  /// It is the request's from now on.
  void take(Request& request) noexcept;
  /// It was not given away: as before take().
  void put_back() noexcept { request_ = nullptr; }
  /// Its cancellation is heard until it has ended. \returns false if it is cancelled already
  bool listen() noexcept;
  /// \param waited  it may be too late
  void start(bool waited, StepList& due) noexcept;

  // --- by its steps ---
  /// A response that is not the last one, which is the run's now.
  void step_answered(StepRun& step, Response& response) noexcept;
  /// The last one, whose bytes are still to come: the step has not ended. Inside of its execution, maybe.
  void step_answered_ahead(StepRun& step, Response& response) noexcept;
  void step_ended(StepRun& step, StepList& due) noexcept;
  /// The same on a thread that comes from somewhere else.
  void step_ended_elsewhere(StepRun& step) noexcept;
  Status allocate(StepRun& step, Response& response, OutputTensor& output, uint64_t size_bytes,
                  MemoryKind preferred_kind, int64_t preferred_device_id) noexcept;
  void free(OutputTensor& output) noexcept;

 private:
  struct DirectOutput;

  void on_cancel(void* context) noexcept override;
  void end_wait() noexcept;
  void run_posted() noexcept;

  // --- with the lock held ---
  void choose_plan();
  void take_inputs();
  void make_step(uint32_t step, uint64_t iteration, StepList& due);
  StepRun& free_step();
  void fill(StepRun& run);
  void end_step(StepRun& step, StepList& due);
  void note_response(StepRun& step, Response& response, StepList& due, bool ahead = false);
  void let_go(KeptResponse* kept) noexcept;
  void note_failure(const StepRun& step, const Status& failure);
  void cancel_steps(std::unique_lock<std::mutex>& lock);
  void add_output(uint64_t iteration, const StepGraph::StepOutput& mapped, KeptResponse& kept,
                  OutputTensor* output, StepList& due);
  void make_ready(uint32_t tensor, uint64_t iteration, StepList& due);
  void use(uint32_t tensor, uint64_t iteration);
  bool is_due(uint64_t iteration);
  void take_due_values();
  void note_answered(const SequenceFields& fields);

  /// Sends what is due and, when nothing is left to do, ends the request: nothing of this is used afterwards.
  void settle(std::unique_lock<std::mutex>& lock);
  void send_due(std::unique_lock<std::mutex>& lock);

  // --- by the only thread that sends ---
  Status copy_outputs(Response& response);
  Status copy_output(Response& response, uint32_t position, const Value& value);
  Status finish(Response** response);
  Status finish_once(Response** response);
  Status make_copied(Response** response);
  void drop_all();
  void complete() noexcept;
  void report(const Status& failure) noexcept;

  // --- outputs that are written where the client wants them ---
  Status allocate_direct(Response& response, OutputTensor& output, uint32_t tensor, uint64_t size_bytes,
                         MemoryKind kind, int64_t device_id);
  void free_direct(OutputTensor& output) noexcept;
  Response* take_direct(OutputTensor& output);

  EnsembleScheduler& ensemble_;
  const StepGraph& graph_;
  Request* request_ = nullptr;
  Cancellation cancellation_;  ///< of the steps; cancelled with the request, or when it has failed
  CancelLink link_;
  const Plan* plan_ = nullptr;
  Plan own_plan_;  ///< of a request that does not ask for all outputs
  std::vector<uint32_t> requested_;

  std::mutex mutex_;  ///< guards what follows
  std::vector<TensorValues> values_;
  std::vector<uint32_t> missing_;     ///< by step: inputs of iteration 0 that have not come
  std::vector<uint64_t> iterations_;  ///< by step: responses of a decoupled one
  std::vector<std::unique_ptr<StepRun>> steps_;
  StepList free_steps_;
  StepList posted_;         ///< due, and to be run by the thread that answers
  bool is_posted_ = false;  ///< it comes
  uint32_t in_flight_ = 0;  ///< steps, and others that are to come back
  bool sending_ = false;    ///< a thread is in settle()
  bool is_over_ = false;    ///< nothing is in flight, and nothing begins any more
  uint64_t responses_ = 0;  ///< that were sent
  int64_t start_ns_ = 0;    ///< steady clock
  Status failure_;          ///< the first one
  bool cancels_ = false;    ///< the steps that run have been told
  uint32_t retry_after_ms_ = 0;
  uint64_t input_ns_ = 0, infer_ns_ = 0, output_ns_ = 0;  ///< of all steps
  SequenceFields answered_;                               ///< of the last step that made an output
  std::string answered_text_;      ///< its sequence's, since the step's response may be gone when it is told
  std::vector<Value> due_values_;  ///< of the response that is made, in the order of the plan's outputs

  std::mutex client_mutex_;     ///< one call of the request's sink at a time, while steps run
  Response* client_ = nullptr;  ///< the response of ResponseMode::kOnce; the last one of kDirect
  Response* discarded_ = nullptr;
  bool client_broken_ = false;
  bool listening_ = false;
  bool is_linked_ = false;
  std::atomic<uint64_t> held_bytes_{0}, most_bytes_{0};
};

}  // namespace atl::ensemble
