/// The scheduler of models without sequences: a queue with policy, a batch former, and the instances.
///
/// There is no thread of its own. Whoever changes something looks whether a batch is due: the thread that
/// brings a request, the thread that has finished a batch, the timer when a delay or a timeout ends. A batch
/// is formed at the last moment, when an instance is there for it, so whatever came meanwhile is in it.
#pragma once

#include <memory>
#include <mutex>

#include "atoll/request/scheduler.h"
#include "schedulers/common/batch/batch_former.h"
#include "schedulers/common/batch/batch_tuner.h"
#include "schedulers/common/batch/ordered_responses.h"
#include "schedulers/common/batch/policy_queue.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/common/instances/instance_dispatcher.h"
#include "schedulers/common/sequence/waiting_room.h"

namespace atl::schedulers {

struct BatchSettings {
  QueuePolicies queue;
  BatchRules rules;
  BatchCompatibility compatibility;
  std::unique_ptr<BatchStrategy> strategy;  ///< may be null
  std::unique_ptr<BatchTuner> tuner;        ///< may be null; else it rules over rules.size_max and delay_ns
  bool preserve_ordering = false;
  uint64_t hold_until = 0;  ///< nothing is executed before so many requests have come to wait, once
  DispatcherLimits dispatcher;
};

/// A request that is cancelled while it waits leaves the queue at once and is answered CANCELLED with an
/// empty text; so is one whose deadline has passed when its turn comes (its client has its own error for
/// that by then). One whose queue timeout has run out is answered UNAVAILABLE. None of them is executed.
class BatchScheduler final : public Scheduler, private BatchSource, private WaitingListener {
 public:
  /// Errors: those of ExecutorFactory::create.
  static Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context, BatchSettings settings,
                                                   AnswerThread answer_thread);
  BatchScheduler(const SchedulerContext& context, BatchSettings settings, AnswerThread answer_thread);
  ~BatchScheduler() override;

  Status enqueue(Request& request) noexcept override;
  void stop_accepting() noexcept override;
  uint64_t in_flight() const noexcept override;
  QueueDescription describe_queue() noexcept override;
  uint64_t cancel_waiting(uint64_t level, uint64_t most) noexcept override;
  bool set_draining(bool draining) noexcept override;

 private:
  enum class Admission { kTaken, kNotWanted, kStopping, kDraining, kQueueFull, kTooLate };

  // --- under the lock; `due`: slots that have got a batch, linked, to be run once the lock is free ---
  Admission admit(Request& request, int64_t now_ns, InstanceSlot** due);
  void run_at_once(Request& request, InstanceSlot& slot, InstanceSlot** due);
  BatchLoad load(int64_t now_ns) const noexcept;
  void fill_idle_instances(int64_t now_ns, InstanceSlot** due);
  bool fill(InstanceSlot& slot, int64_t now_ns);
  void stop_waiting_for_others(int64_t now_ns, InstanceSlot** due);
  QueueWait lacking() noexcept;
  void set_window();
  BatchDecision granted(const InstanceSlot& slot, const BatchDecision& due, int64_t* ends_ns) noexcept;
  bool in_time(const Request& request, uint32_t batch_size, int64_t ends_ns, int64_t now_ns) noexcept;
  bool drop_late(uint32_t batch_size, int64_t ends_ns, int64_t now_ns) noexcept;
  void tell_left() noexcept;
  void expire(int64_t now_ns) noexcept;
  void on_cancelled(Request& request) noexcept override;

  // --- without it ---
  bool prepare(InstanceSlot& slot) noexcept override;
  bool next_batch(InstanceSlot& slot, uint32_t finished) noexcept override;
  bool give_way(InstanceSlot& slot, uint32_t finished) noexcept override;
  void recheck() noexcept override;

  Clock& clock_;
  mutable std::mutex mutex_;  // this model's own; held for a few instructions
  PolicyQueue queue_;
  BatchSettings settings_;
  BatchFormer former_;
  const WaitRefusal too_late_;  // the tuner's
  uint64_t taken_ = 0;          // requests that are neither in the queue nor in the waiting room
  bool accepting_ = true;       // neither of these
  bool stopped_ = false;
  bool draining_ = false;

  std::unique_ptr<OrderedResponses> order_;
  WaitingRoom waiting_;
  InstanceDispatcher dispatcher_;  // last: its destructor joins threads that use the rest
};

}  // namespace atl::schedulers
