/// One timer of a scheduler on a thread that it shares with others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "schedulers/common/batch/deadline_heap.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/common/instances/inside.h"

namespace atl::schedulers {

/// Who wants to be called back. It may be called without need, and looks itself what is due.
class RecheckListener {
 public:
  /// With no lock held.
  virtual void recheck() noexcept = 0;

 protected:
  ~RecheckListener() = default;
};

/// Calls back at or after the earliest time it was asked for, once. arm() and fired() only under the
/// scheduler's lock.
class RecheckTimer {
 public:
  /// \param inside  counts a call that runs; the listener waits for it after stop().
  RecheckTimer(AnswerThread thread, RecheckListener& listener, std::atomic<uint32_t>& inside)
      : thread_(std::move(thread)), target_(std::make_shared<Target>(&listener, &inside)) {}
  RecheckTimer(const RecheckTimer&) = delete;
  RecheckTimer& operator=(const RecheckTimer&) = delete;
  ~RecheckTimer() {
    if (armed_id_ != 0) (void)thread_->cancel(armed_id_);
  }

  /// DeadlineHeap::kNever asks for nothing. What is armed already is enough, if it is not later.
  void arm(int64_t at_ns) {
    if (at_ns >= armed_at_ns_) return;
    if (armed_id_ != 0) (void)thread_->cancel(armed_id_);
    armed_at_ns_ = at_ns;
    armed_id_ = thread_->post_at(at_ns, make_task([target = target_] { target->call(); }));
  }
  /// For whoever was called back: what was armed for now or before is over.
  void fired(int64_t now_ns) noexcept {
    if (armed_at_ns_ > now_ns) return;
    armed_at_ns_ = DeadlineHeap::kNever;
    armed_id_ = 0;
  }
  /// No call begins any more. For the listener's destructor, which then waits for one that runs.
  void stop() noexcept {
    std::lock_guard lock(target_->mutex);
    target_->listener = nullptr;
  }

 private:
  /// Outlives the timer, as long as a task on the thread knows it.
  struct Target {
    Target(RecheckListener* who, std::atomic<uint32_t>* count) noexcept : listener(who), inside(count) {}
    void call() {
      std::unique_lock lock(mutex);
      RecheckListener* who = listener;
      if (who == nullptr) return;
      Inside stay(*inside);
      lock.unlock();
      who->recheck();
    }
    std::mutex mutex;
    RecheckListener* listener;
    std::atomic<uint32_t>* inside;
  };

  AnswerThread thread_;
  std::shared_ptr<Target> target_;
  int64_t armed_at_ns_ = DeadlineHeap::kNever;
  TimerId armed_id_ = 0;
};

}  // namespace atl::schedulers
