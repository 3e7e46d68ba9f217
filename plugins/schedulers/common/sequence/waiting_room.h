/// What happens to requests while they wait in a scheduler: who is cancelled or has waited for too long
/// leaves at once and is answered without having been executed.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "atoll/core/clock.h"
#include "atoll/request/cancellation.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"
#include "schedulers/common/batch/policy_queue.h"
#include "schedulers/common/batch/recheck_timer.h"
#include "schedulers/common/batch/request_queue.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/common/instances/inside.h"

namespace atl::schedulers {

/// Why a request is not executed. Lives as long as the room that it is given to.
struct WaitRefusal {
  FailureReason reason;
  Status (*status)(const Request& request, const void* context);
  const void* context = nullptr;

  Status status_for(const Request& request) const { return status(request, context); }
};

extern const WaitRefusal kCancelledInQueue;  ///< or the deadline of its client has passed
extern const WaitRefusal kExpiredInQueue;    ///< the timeout of its queue policy has run out
extern const WaitRefusal kCancelledByOperator;

/// The scheduler, as the room sees it. recheck() is also called when nothing is due.
class WaitingListener : public RecheckListener {
 public:
  /// A request that listens was cancelled. If it still waits, the scheduler takes it out of its queue, with
  /// whoever cannot be executed without it, and refuses them. Under the scheduler's lock.
  virtual void on_cancelled(Request& request) noexcept = 0;

 protected:
  ~WaitingListener() = default;
};

/// Where requests wait, in which order and for whom, is the scheduler's: the room listens for their
/// cancellation, calls the scheduler when a time has come, and answers those that the scheduler refuses, on a
/// thread of its own: not on that of who cancels, which is still inside the request's Cancellation. From
/// refuse() on a request is the room's, with its links.
class WaitingRoom final : private CancelListener {
 public:
  /// \param mutex     the scheduler's lock
  /// \param reporter  may be null
  WaitingRoom(std::mutex& mutex, const Clock& clock, InferenceReporter* reporter, AnswerThread answer_thread,
              WaitingListener& listener)
      : mutex_(mutex),
        clock_(clock),
        reporter_(reporter),
        listener_(listener),
        answer_thread_(std::move(answer_thread)),
        timer_(answer_thread_, listener, inside_) {}
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;
  ~WaitingRoom() { close(); }
  /// The listener is not called any more when it returns, and no stay lasts. For when nothing is in flight,
  /// without the lock.
  void close() noexcept {
    timer_.stop();
    wait_until_nobody_is_inside(inside_);
  }
  /// For a thread of the scheduler's that may touch it after the last request has ended.
  Inside stay() noexcept { return Inside(inside_); }

  // --- only under the scheduler's lock ---
  /// The request, which is in a queue, is listened for. \returns false if it is cancelled already
  bool listen(Request& request) noexcept { return request.cancellation.listen(this, &request); }
  /// The request, which is in no queue any more, will be answered.
  void refuse(Request& request, const WaitRefusal& why) noexcept;
  /// Refuses whoever the timeouts of the queue reject, and lets those wait longer that they delay.
  /// \returns true if the queue has changed
  bool expire(PolicyQueue& queue, int64_t now_ns) noexcept {
    return queue.next_timeout_ns() < now_ns && expire_due(queue, now_ns);
  }
  /// recheck() is to be called at that time; DeadlineHeap::kNever: not.
  void recheck_at(int64_t at_ns) { timer_.arm(at_ns); }
  /// The same for when the next timeout of the queue has run out.
  void arm_for_timeouts(const PolicyQueue& queue) {
    if (int64_t timeout_ns = queue.next_timeout_ns(); timeout_ns != DeadlineHeap::kNever)
      timer_.arm(timeout_ns + 1);  // it has run out when the clock is past it
  }
  /// By recheck(), before it asks for other times.
  void rechecked(int64_t now_ns) noexcept { timer_.fired(now_ns); }
  /// Requests that were refused and are not answered yet.
  uint64_t leaving() const noexcept { return leaving_; }

  // --- without it ---
  /// The request is about to be executed and is not listened for any more: on_cancelled() is not running for
  /// it. \returns false if nobody waits for its answer: answer() it
  bool end_wait(Request& request) const noexcept {
    request.cancellation.stop_listening();
    if (request.cancelled()) return false;
    return request.times.deadline_ns == 0 || clock_.now_ns() <= request.times.deadline_ns;
  }
  /// Answers and releases the request here and now.
  void answer(Request& request, const WaitRefusal& why) noexcept;

 private:
  bool expire_due(PolicyQueue& queue, int64_t now_ns) noexcept;
  void on_cancel(void* request) noexcept override;
  void answer_refused() noexcept;
  Request* next_refused(bool another_answered) noexcept;

  std::mutex& mutex_;
  const Clock& clock_;
  InferenceReporter* reporter_;
  WaitingListener& listener_;
  RequestQueue refused_;
  uint64_t leaving_ = 0;    // those, and the one that is being answered
  bool answering_ = false;  // a task of the answer thread is on its way
  std::atomic<uint32_t> inside_{0};
  AnswerThread answer_thread_;
  RecheckTimer timer_;
};

}  // namespace atl::schedulers
