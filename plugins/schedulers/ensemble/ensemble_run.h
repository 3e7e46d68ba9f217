/// One request's way through an ensemble.
#pragma once

#include <cstdint>
#include <mutex>

#include "atoll/request/cancellation.h"
#include "atoll/request/request.h"
#include "schedulers/ensemble/ensemble_answer.h"
#include "schedulers/ensemble/first_failure.h"
#include "schedulers/ensemble/plan.h"
#include "schedulers/ensemble/run_cancellation.h"
#include "schedulers/ensemble/step_list.h"
#include "schedulers/ensemble/step_pool.h"
#include "schedulers/ensemble/step_times.h"
#include "schedulers/ensemble/step_values.h"

namespace atl::ensemble {

class EnsembleScheduler;

/// Drives the steps: they run as soon as their inputs are among the values, at the same time where they can. A
/// failure ends the request when the steps that run have ended. Used again and again by its scheduler. [any] Whoever
/// brings an event about gets the steps that are due by it and runs them, with no lock held.
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
  /// Its cancellation is heard until it has ended. \returns false if it is cancelled already
  bool listen() noexcept { return cancellation_.listen(); }
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
  void on_cancel(void* context) noexcept override;
  void end_wait() noexcept;
  void run_posted() noexcept;

  // --- with the lock held ---
  void make_step(uint32_t step, uint64_t iteration, StepList& due);
  void end_step(StepRun& step, StepList& due);
  void add_response(StepRun& step, Response& response, StepList& due, bool ahead = false);
  void note_failure(const StepRun& step, const Status& failure);
  void cancel_steps(std::unique_lock<std::mutex>& lock);
  /// Sends what is due and, when nothing is left to do, ends the request: nothing of this is used afterwards.
  void settle(std::unique_lock<std::mutex>& lock);
  void send_due(std::unique_lock<std::mutex>& lock);

  void complete() noexcept;

  EnsembleScheduler& ensemble_;
  Request* request_ = nullptr;
  RunCancellation cancellation_{*this};
  ChosenPlan plan_;

  std::mutex mutex_;  ///< guards what follows
  StepValues values_;
  EnsembleAnswer answer_;
  StepPool steps_;
  StepList posted_;         ///< due, and to be run by the thread that answers, which comes
  uint32_t in_flight_ = 0;  ///< steps, and others that are to come back
  bool sending_ = false;    ///< a thread is in settle()
  bool is_over_ = false;    ///< nothing is in flight, and nothing begins any more
  FirstFailure failure_;
  StepTimes times_;
};

}  // namespace atl::ensemble
