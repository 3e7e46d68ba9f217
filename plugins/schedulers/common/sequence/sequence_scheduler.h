/// The scheduler of models that keep something from request to request of a sequence: the table of sequences, a
/// strategy that forms batches of them, and the instances.
///
/// As BatchScheduler it has no thread of its own, and forms a batch at the last moment, when its instance is
/// there for it. A request holds its sequence from enqueue() until it is released, so never two of one are with
/// a backend.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/request/scheduler.h"
#include "schedulers/common/batch/ordered_responses.h"
#include "schedulers/common/batch/request_end.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/common/instances/instance_dispatcher.h"
#include "schedulers/common/sequence/control_inputs.h"
#include "schedulers/common/sequence/sequence_figures.h"
#include "schedulers/common/sequence/sequence_strategy.h"
#include "schedulers/common/sequence/sequence_table.h"
#include "schedulers/common/sequence/waiting_room.h"
#include "schedulers/common/state/implicit_state.h"
#include "schedulers/common/state/null_rows.h"
#include "schedulers/common/state/null_state.h"

namespace atl::schedulers {

struct SequenceSettings {
  SequenceLimits limits;  ///< the instances' number is the context's
  std::unique_ptr<SequenceStrategy> strategy;
  ControlInputs controls;
  StateLayout states;
  StateMemory* state_memory = nullptr;  ///< never null; outlives the scheduler
  BatchCompatibility compatibility;     ///< for rows that stand for nobody
  bool iterative = false;               ///< requests come back from the backend, and need no id
  bool preserve_ordering = false;
  uint64_t queue_size_max = 0;      ///< requests that wait; 0: any number
  uint64_t hold_until = 0;          ///< nothing is executed before so many requests wait, once,
  uint64_t hold_until_backlog = 0;  ///< and so many of them in the backlog
  DispatcherLimits dispatcher;
  std::shared_ptr<SequenceFigures> figures;  ///< written to; never null
  Log* log = nullptr;                        ///< may be null
};

/// A request that is cancelled while it waits, or whose deadline has passed when its turn comes, ends its
/// sequence: a step is missing, so what waits behind it cannot be answered rightly. All of them are answered
/// CANCELLED. A sequence that waits in the backlog for longer than the timeout of one of its requests ends
/// likewise, as UNAVAILABLE. One that an execution fails goes on.
class SequenceScheduler final : public Scheduler,
                                private Rescheduler,
                                private BatchSource,
                                private WaitingListener,
                                private RequestEndListener {
 public:
  /// Errors: those of ExecutorFactory::create.
  static Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context, SequenceSettings settings,
                                                   AnswerThread answer_thread);
  SequenceScheduler(const SchedulerContext& context, SequenceSettings settings, AnswerThread answer_thread);
  ~SequenceScheduler() override;

  Status enqueue(Request& request) noexcept override;
  void stop_accepting() noexcept override;
  uint64_t in_flight() const noexcept override;
  uint64_t open_sequences() const noexcept override;
  bool has_sequence(const SequenceId& id) const noexcept override;
  void end_sequences() noexcept override;
  QueueDescription describe_queue() noexcept override;
  uint64_t cancel_waiting(uint64_t level, uint64_t most) noexcept override;
  bool set_draining(bool draining) noexcept override;

 private:
  /// One request from enqueue() to its end, or one row that stands for nobody.
  struct Entry final : RequestEnd {
    explicit Entry(RequestEndListener& listener) noexcept : RequestEnd(listener) {}
    Sequence* sequence = nullptr;  ///< null: the request has left it
    Request* null_row = nullptr;
    uint32_t instance = 0;    ///< of a row
    bool is_ordered = false;  ///< has its place among the responses
  };
  struct Instance {
    Instance(const BatchCompatibility& compatibility, ImplicitStates& states)
        : null_rows(compatibility), null_state(states) {}
    std::vector<Sequence*> formed;
    std::vector<Request*> batch;
    uint64_t unreleased = 0;  ///< of what was executed
    NullRows null_rows;
    NullState null_state;  ///< of those
  };
  enum class Admission { kTaken, kStopping, kDraining, kQueueFull, kNotStarted };
  /// Whether sequences may begin; kEnded: none goes on, either. Later ones are for ever.
  enum class Intake { kOpen, kDraining, kStopped, kEnded };

  static Entry& entry_of(const Request& request) noexcept {
    return *static_cast<Entry*>(request.links.scheduler_data);
  }

  // --- under the lock; `due`: slots that have got a batch, linked, to be run once the lock is free ---
  Admission admit(Request& request, int64_t now_ns, InstanceSlot** due);
  Sequence* add_to_sequence(Request& request, int64_t now_ns);
  Entry& new_entry();
  void wait_in_line(Request& request);
  void release_if_enough_wait(int64_t now_ns) noexcept;
  bool fill(InstanceSlot& slot, int64_t now_ns);
  void fill_idle(uint32_t instance, int64_t now_ns, InstanceSlot** due);
  void fill_all_idle(int64_t now_ns, InstanceSlot** due);
  void end_sequence(Sequence& sequence, int64_t now_ns, const WaitRefusal& why) noexcept;
  void refuse_all(RequestQueue& waiting, const WaitRefusal& why) noexcept;
  void expire_backlog(int64_t now_ns) noexcept;
  void time_passes(int64_t now_ns) noexcept;
  void settle(int64_t now_ns) noexcept;
  void on_cancelled(Request& request) noexcept override;

  // --- without it ---
  bool prepare(InstanceSlot& slot) noexcept override;
  bool complete(Request& request) noexcept;
  void drop(Request& request, const Status& failure, FailureReason reason) noexcept;
  Request& null_row(uint32_t instance, const Request& reference);
  bool next_batch(InstanceSlot& slot, uint32_t finished) noexcept override;
  void recheck() noexcept override;
  void on_released(RequestEnd& end) noexcept override;
  void on_ended(RequestEnd& end) noexcept override;
  Status reschedule(Request& request) noexcept override;

  Clock& clock_;
  InferenceReporter* const reporter_;
  const std::string model_name_;
  mutable std::mutex mutex_;  // this model's own; held for a few instructions
  SequenceSettings settings_;
  ImplicitStates states_;
  SequenceTable table_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::unique_ptr<Entry>> entries_;  // all there are, and of these
  std::vector<Entry*> unused_entries_;
  uint64_t in_flight_ = 0;  // entries in use
  uint64_t next_id_ = 1;    // of an iterative sequence
  Intake intake_ = Intake::kOpen;
  bool warned_ = false;

  std::unique_ptr<OrderedResponses> order_;
  WaitingRoom waiting_;
  InstanceDispatcher dispatcher_;  // last: its destructor joins threads that use the rest
};

}  // namespace atl::schedulers
