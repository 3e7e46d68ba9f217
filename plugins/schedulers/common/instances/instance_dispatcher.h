/// Runs batches on the instances of one model: who runs them, on which thread, one at a time an instance.
///
/// A hand-off between threads costs more than a small model's execution. So an idle instance of a light model
/// is run on the thread that brought the request; any other on the thread of its own. Whoever finished a
/// batch asks for the next one and runs it without a hop; a light instance's own thread gives way to requests'
/// threads now and then, because under load it would never become idle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/request/scheduler.h"
#include "schedulers/common/batch/execution_time.h"
#include "schedulers/common/instances/admitted_instances.h"

namespace atl::schedulers {

class InstanceDispatcher;

/// One instance and the batch that it is given. Whoever holds the slot (took it idle, or is inside
/// BatchSource::next_batch) has it alone.
class InstanceSlot final : private RoomListener {
 public:
  InstanceSlot() noexcept = default;
  InstanceSlot(const InstanceSlot&) = delete;
  InstanceSlot& operator=(const InstanceSlot&) = delete;

  const InstanceSpec& spec() const noexcept { return *instance_.spec; }
  BackendInstance& backend() const noexcept { return *instance_.backend; }
  uint32_t index() const noexcept { return index_; }
  const ExecutionTime& execution_time() const noexcept { return execution_time_; }
  /// Whether batches must not be larger than backend().room(), which may be less than one request takes.
  bool has_limited_room() const noexcept { return has_limited_room_; }
  /// Of one with limited room: what is due does not fit. It is not idle when it is put so, but comes to
  /// next_batch() when it has so much room.
  void wait_for_room(uint32_t weight) noexcept { room_wanted_ = weight; }

  /// The batch to be run next: clear, then add in order. Requests are borrowed.
  void clear_batch() noexcept;
  void add(Request& request) noexcept;
  uint32_t request_count() const noexcept { return static_cast<uint32_t>(requests_.size()); }
  uint32_t total_batch_size() const noexcept { return total_batch_size_; }
  std::span<Request* const> requests() const noexcept { return requests_; }
  /// Takes out those that `unwanted(request)` is true for, and keeps the order of the others.
  template <class Unwanted>
  void drop(Unwanted&& unwanted) {
    std::vector<Request*> before;
    before.swap(requests_);
    clear_batch();
    for (Request* request : before) {
      if (!unwanted(*request)) add(*request);
    }
  }
  /// How long the last execution took.
  int64_t last_duration_ns() const noexcept { return last_duration_ns_; }
  /// Whether a request of it was cancelled: it may have taken less than it would have. Known of executions on the
  /// instance's own thread.
  bool was_cut_short() const noexcept { return was_cut_short_; }

  InstanceSlot* next = nullptr;  ///< link for whoever holds the slot, the dispatcher while it is idle

 private:
  friend class InstanceDispatcher;
  friend class ExecutionWatch;
  /// [any]
  void on_room() noexcept override;

  ScheduledInstance instance_;
  uint32_t index_ = 0;
  uint32_t total_batch_size_ = 0;
  int64_t deadline_ns_ = 0;
  int64_t last_duration_ns_ = 0;
  bool was_cut_short_ = false;
  std::atomic<bool> saw_cancelled_{false};  // request that was released, since the execution began
  bool executed_ = false;                   // since it was admitted
  bool holds_resources_ = false;            // while it executes
  bool has_limited_room_ = false;
  uint32_t room_wanted_ = 0;
  std::atomic<bool> waits_for_room_{false};
  std::vector<Request*> requests_;  // capacity is kept from batch to batch
  ExecutionTime execution_time_;
  InstanceDispatcher* dispatcher_ = nullptr;
  SerialExecutorPtr executor_;  // null until it is needed for the first time
};

/// The scheduler, as the dispatcher sees it.
class BatchSource {
 public:
  /// The slot's batch has been executed; `finished` requests of it are no longer executing. Fills the slot
  /// with the next batch and returns true, or gives the slot to put_idle() under the scheduler's lock, does
  /// not touch it any more and returns false. Called with no lock held, on the thread that ran the batch.
  virtual bool next_batch(InstanceSlot& slot, uint32_t finished) noexcept = 0;
  /// The slot's batch is executed next: what need not be is answered and taken out of it. Called with no lock
  /// held. \returns false if nothing is left
  virtual bool prepare(InstanceSlot& slot) noexcept = 0;
  /// As next_batch(), but whoever brings a request may have the slot before: it is put_idle() in any case, and what waits then is
  /// seen to. \returns false if the source does no such thing, and nothing was done
  virtual bool give_way(InstanceSlot& /*slot*/, uint32_t /*finished*/) noexcept { return false; }

 protected:
  ~BatchSource() = default;
};

struct DispatcherLimits {
  /// An instance whose executions take less is light and may be run on a request's thread. 0: none is. What
  /// execute() takes includes handing out its responses, which for a socket costs tens of microseconds.
  int64_t light_execution_ns = 100'000;
  /// Batches that a request's thread runs in a row before it hands the rest to the instance's own thread, so
  /// that one client's thread does not end up serving all others. As many of a light instance run on its own
  /// thread before that gives way to requests' threads.
  uint32_t inline_batches_max = 16;
  /// Inline runs inside one another on one thread: a response may bring the next request at once.
  uint32_t inline_depth_max = 8;
};

class InstanceDispatcher final : private AdmissionListener {
 public:
  InstanceDispatcher(const SchedulerContext& context, BatchSource& source,
                     const DispatcherLimits& limits) noexcept;
  InstanceDispatcher(const InstanceDispatcher&) = delete;
  InstanceDispatcher& operator=(const InstanceDispatcher&) = delete;
  /// Joins the instances' threads. No slot may be in use but by a thread that is about to return.
  ~InstanceDispatcher();

  /// Makes the threads of the instances that are bound to cores or a node, so that it is known whether they
  /// can be, and of those that others call for; the rest are made when they are needed. Errors: those of
  /// ExecutorFactory::create, with the instance's name.
  Status start() noexcept;

  // --- only under the scheduler's lock, which also guards its queue: so no request is left waiting beside an
  // idle instance ---
  /// The instance that became idle last (its caches are warm), or the one whose turn it is where executions
  /// are admitted; null if none is idle.
  InstanceSlot* take_idle() noexcept;
  /// Takes this one if it is idle, whoever would be the next; the order of the others stays. Who takes
  /// particular instances sees to their fairness: neither how long the others have been idle nor whose turn
  /// it is counts. In time linear in the idle instances. \returns false if it is not idle: then it comes to
  /// next_batch()
  bool take(InstanceSlot& slot) noexcept;
  /// \returns false if the slot waits for admission or for room instead. Then it comes to next_batch() when
  /// it may be executed: its batch is made as late as that.
  bool put_idle(InstanceSlot& slot) noexcept;
  /// Whether the slot, which a batch is due for, may be executed now. False: put_idle() it.
  /// \param insists  some of the requests that wait must not be made to wait for resources
  bool admit(InstanceSlot& slot, bool insists) noexcept {
    return !admissions_.active() || ask_for(slot, insists);
  }
  /// Whether whatever is idle takes any batch: none waits for admission or room, ever.
  bool takes_all() const noexcept { return takes_all_; }
  /// For what the admission is to know of the queue, and what it says of batches.
  AdmittedInstances& admissions() noexcept { return admissions_; }
  /// No batch is due: whoever waits for admission need not.
  void nothing_due() noexcept {
    if (admissions_.anybody_waits()) withdraw_all();
  }
  uint32_t idle_count() const noexcept { return idle_count_; }

  // --- without the scheduler's lock ---
  /// Runs the batches that these slots were given, linked by `next` (null: none), and then whatever next_batch()
  /// gives. A failure of execute(), or to have the thread, answers every request of the batch.
  /// \param here  this thread may run one of them itself; the others must not wait for that
  void run(InstanceSlot* due, bool here) noexcept;

  std::span<InstanceSlot> slots() noexcept { return {slots_.get(), slot_count_}; }

 private:
  friend class InstanceSlot;
  static void run_on_executor(void* slot) noexcept;
  static void run_if_due(void* slot) noexcept;
  static void watch(InstanceSlot& slot) noexcept;
  void admitted(void* slot) noexcept override;
  InstanceSlot* take_next_in_turn() noexcept;
  bool may_be_idle(InstanceSlot& slot) noexcept;
  bool ask_for(InstanceSlot& slot, bool insists) noexcept;
  void withdraw_all() noexcept;
  bool fill(InstanceSlot& slot, uint32_t finished) noexcept;
  bool may_run_inline(const InstanceSlot& slot) const noexcept;
  void run_here(InstanceSlot& slot) noexcept;
  void hand_over(InstanceSlot& slot) noexcept;
  void execute(InstanceSlot& slot) noexcept;
  void call_for(InstanceSlot& slot) noexcept;
  Status make_thread(InstanceSlot& slot) noexcept;
  void fail_batch(const InstanceSlot& slot, const Status& status, FailureReason reason) noexcept;

  BatchSource& source_;
  const DispatcherLimits limits_;
  Clock& clock_;
  ExecutorFactory& executors_;
  InferenceReporter* reporter_;
  AdmittedInstances admissions_;
  bool takes_all_;
  InstanceSlot* idle_ = nullptr;
  uint32_t idle_count_ = 0;
  size_t slot_count_;
  std::unique_ptr<InstanceSlot[]> slots_;
};

}  // namespace atl::schedulers
