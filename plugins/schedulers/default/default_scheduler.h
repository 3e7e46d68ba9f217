/// The default scheduler: every request is a batch of its own, first come, first served, by any instance that
/// is idle.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "atoll/scheduler.h"
#include "common/answer_thread.h"
#include "common/instance_dispatcher.h"
#include "common/request_queue.h"

namespace atl::schedulers {

struct DefaultSettings {
  uint64_t queue_size_max = 65'536;  ///< requests waiting for one model version; 0: any number
  DispatcherLimits dispatcher;
};

/// A request that is cancelled while it waits leaves the queue at once and is answered CANCELLED with an
/// empty text; so is one whose deadline has passed when its turn comes (its client has its own error for
/// that by then). Neither is executed.
class DefaultScheduler final : public Scheduler, private BatchSource, private CancelListener {
 public:
  /// Errors: those of ExecutorFactory::create.
  static Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context,
                                                   const DefaultSettings& settings,
                                                   AnswerThread answer_thread);
  DefaultScheduler(const SchedulerContext& context, const DefaultSettings& settings,
                   AnswerThread answer_thread) noexcept;
  ~DefaultScheduler() override;

  Status enqueue(Request& request) noexcept override;
  void stop_accepting() noexcept override;
  uint64_t in_flight() const noexcept override;

 private:
  /// A thread that may still touch this object after its request has been answered.
  class Inside {
   public:
    explicit Inside(DefaultScheduler& scheduler) noexcept : scheduler_(scheduler) {
      scheduler_.inside_.fetch_add(1, std::memory_order_relaxed);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { scheduler_.inside_.fetch_sub(1, std::memory_order_release); }

   private:
    DefaultScheduler& scheduler_;
  };
  enum class Admission { kRun, kQueued, kNotWanted, kStopping, kQueueFull };

  Admission admit(Request& request, InstanceSlot** slot) noexcept;
  bool next_batch(InstanceSlot& slot, uint32_t finished) noexcept override;
  void on_cancel(void* request) noexcept override;
  void answer_cancelled() noexcept;
  bool is_wanted(const Request& request) const noexcept;
  void refuse_to_run(Request& request) noexcept;

  const DefaultSettings settings_;
  Clock& clock_;
  InferenceReporter* reporter_;
  std::atomic<uint32_t> inside_{0};

  mutable std::mutex mutex_;  // this model's own; held for a few instructions
  RequestQueue waiting_;
  RequestQueue cancelled_;  // out of the line, to be answered by the answer thread
  uint64_t in_flight_ = 0;
  bool accepting_ = true;
  bool answering_ = false;  // a task of the answer thread is on its way

  AnswerThread answer_thread_;
  InstanceDispatcher dispatcher_;  // last: its destructor joins threads that use the rest
};

}  // namespace atl::schedulers
