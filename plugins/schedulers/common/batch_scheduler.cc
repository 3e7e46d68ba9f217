#include "schedulers/common/batch_scheduler.h"

#include <algorithm>
#include <utility>

#include "schedulers/common/inside.h"
#include "schedulers/common/scheduler_messages.h"

namespace atl::schedulers {

Result<std::unique_ptr<Scheduler>> BatchScheduler::create(const SchedulerContext& context,
                                                          BatchSettings settings,
                                                          AnswerThread answer_thread) {
  auto scheduler = std::make_unique<BatchScheduler>(context, std::move(settings), std::move(answer_thread));
  ATOLL_RETURN_IF_ERROR(scheduler->dispatcher_.start());
  return std::unique_ptr<Scheduler>(std::move(scheduler));
}

BatchScheduler::BatchScheduler(const SchedulerContext& context, BatchSettings settings,
                               AnswerThread answer_thread)
    : clock_(*context.clock),
      reporter_(context.reporter),
      queue_(std::move(settings.queue)),
      settings_(std::move(settings)),
      former_(queue_, settings_.rules, settings_.compatibility, settings_.strategy.get()),
      order_(settings_.preserve_ordering ? std::make_unique<OrderedResponses>() : nullptr),
      answer_thread_(std::move(answer_thread)),
      timer_(answer_thread_, *this, inside_),
      dispatcher_(context, *this, settings_.dispatcher) {}

BatchScheduler::~BatchScheduler() {
  timer_.stop();
  // in_flight() is 0, so these are threads between their last answer and their return.
  wait_until_nobody_is_inside(inside_);
}

// --- under the lock ---

BatchLoad BatchScheduler::load(int64_t now_ns) const noexcept {
  return {now_ns, queue_.total_weight(), dispatcher_.idle_count()};
}

void BatchScheduler::arm_for_timeouts() {
  int64_t timeout_ns = queue_.next_timeout_ns();
  // A timeout has run out when the clock is past it.
  if (timeout_ns != DeadlineHeap::kNever) timer_.arm(timeout_ns + 1);
}

bool BatchScheduler::claim_answering() noexcept {
  if (std::exchange(answering_, true)) return false;
  inside_.fetch_add(1, std::memory_order_relaxed);  // the task's stay, which it ends itself
  return true;
}

void BatchScheduler::expire(int64_t now_ns, Work* work) noexcept {
  if (queue_.next_timeout_ns() >= now_ns || !queue_.expire(now_ns, expired_)) return;
  former_.forget();
  if (queue_.empty()) dispatcher_.nothing_due();
  if (!expired_.empty()) work->post_answers |= claim_answering();
}

void BatchScheduler::run_at_once(Request& request, InstanceSlot& slot, Work* work) {
  slot.clear_batch();
  if (order_ != nullptr) order_->reserve(request);
  slot.add(request);
  slot.next = nullptr;
  work->slots = &slot;
}

BatchScheduler::Admission BatchScheduler::admit(Request& request, int64_t now_ns, Work* work) {
  if (!accepting_) return Admission::kStopping;
  if (request.cancelled()) {
    ++in_flight_;
    return Admission::kNotWanted;
  }
  expire(now_ns, work);
  if (settings_.tuner != nullptr && !settings_.tuner->admit(request, load(now_ns)))
    return Admission::kTooLate;
  bool waits_for_others = settings_.tuner != nullptr || settings_.strategy != nullptr ||
                          settings_.rules.delay_ns != 0 || settings_.hold_until != 0;
  if (queue_.empty() && !waits_for_others && !dispatcher_.asks_for_admission()) {
    if (InstanceSlot* slot = dispatcher_.take_idle(); slot != nullptr) {
      ++in_flight_;
      run_at_once(request, *slot, work);
      return Admission::kTaken;
    }
  }
  if (!queue_.push(request, now_ns)) return Admission::kQueueFull;
  ++in_flight_;
  former_.arrived(request);
  fill_idle_instances(now_ns, work);
  if (!queue_.contains(request)) return Admission::kTaken;
  if ((request.call_flags & kCallerHoldsResources) != 0) dispatcher_.insist();
  if (!request.cancellation.listen(this, &request)) {
    queue_.remove(request);
    former_.forget();
    return Admission::kNotWanted;
  }
  arm_for_timeouts();
  return Admission::kTaken;
}

void BatchScheduler::fill_idle_instances(int64_t now_ns, Work* work) {
  if (queue_.size() < settings_.hold_until) return;
  settings_.hold_until = 0;
  while (!queue_.empty()) {
    InstanceSlot* slot = dispatcher_.take_idle();
    if (slot == nullptr) return;
    if (!fill(*slot, now_ns, work)) {
      if (dispatcher_.put_idle(*slot)) return;
      continue;  // another one may find its resources
    }
    slot->next = std::exchange(work->slots, slot);
  }
}

bool BatchScheduler::fill(InstanceSlot& slot, int64_t now_ns, Work* work) {
  BatchTuner* tuner = settings_.tuner.get();
  if (tuner != nullptr) {
    BatchTuner::Window window = tuner->window();
    former_.set_window(window.size_max, accepting_ ? window.delay_ns : 0);
  }
  while (true) {
    BatchFormer::Decision decision = former_.decide(now_ns);
    if (decision.count == 0) {
      timer_.arm(decision.look_again_ns);
      return false;
    }
    if (!dispatcher_.admit(slot, queue_.called_by_executions())) return false;
    former_.forget();
    if (drop_late(decision.size, now_ns, work)) continue;  // others take their places
    slot.clear_batch();
    for (uint32_t i = 0; i < decision.count; ++i) {
      Request& request = *queue_.front();
      queue_.remove(request);
      if (order_ != nullptr) order_->reserve(request);
      slot.add(request);
    }
    if (queue_.empty()) dispatcher_.nothing_due();
    return true;
  }
}

/// \returns true if any was at the front.
bool BatchScheduler::drop_late(uint32_t batch_size, int64_t now_ns, Work* work) noexcept {
  if (settings_.tuner == nullptr) return false;
  bool dropped = false;
  for (Request* first = queue_.front();
       first != nullptr && !settings_.tuner->in_time(*first, batch_size, now_ns); first = queue_.front()) {
    queue_.remove(*first);
    late_.push_back(*first);
    dropped = true;
  }
  if (dropped) work->post_answers |= claim_answering();
  return dropped;
}

// --- without it ---

Status BatchScheduler::enqueue(Request& request) noexcept {
  Inside inside(inside_);
  int64_t now_ns = clock_.now_ns();
  if (request.times.queue_start_ns == 0) request.times.queue_start_ns = now_ns;
  Work work;
  Admission admission;
  {
    std::lock_guard lock(mutex_);
    admission = admit(request, now_ns, &work);
  }
  run(work, true);
  switch (admission) {
    case Admission::kTaken:
      return {};
    case Admission::kNotWanted: {
      refuse(request, FailureReason::kCanceled, cancelled_in_queue());
      std::lock_guard lock(mutex_);
      --in_flight_;
      return {};
    }
    case Admission::kStopping:
      return unavailable_for(request, kStopping);
    case Admission::kTooLate:
      return too_late(request);
    case Admission::kQueueFull:
      break;
  }
  return unavailable_for(request, kQueueFull);
}

void BatchScheduler::run(const Work& work, bool here) noexcept {
  if (work.post_answers) post_answers();
  for (InstanceSlot* slot = work.slots; slot != nullptr;) {
    InstanceSlot* next = std::exchange(slot->next, nullptr);
    if (drop_unwanted(*slot) || next_batch(*slot, 0)) {
      // This thread can run one of them; the others must not wait for that.
      here&& next == nullptr ? dispatcher_.dispatch(*slot) : dispatcher_.hand_over(*slot);
    }
    slot = next;
  }
}

/// \returns true if something is left to be executed.
bool BatchScheduler::drop_unwanted(InstanceSlot& slot) noexcept {
  bool all_wanted = true;
  for (Request* request : slot.requests()) {
    // Waits for an on_cancel() that runs right now, so not under the lock, which that needs.
    request->cancellation.stop_listening();
    all_wanted = all_wanted && is_wanted(*request);
  }
  if (all_wanted) return true;
  uint32_t dropped = 0;
  slot.drop([&](Request& request) {
    if (is_wanted(request)) return false;
    refuse(request, FailureReason::kCanceled, cancelled_in_queue());
    ++dropped;
    return true;
  });
  std::lock_guard lock(mutex_);
  in_flight_ -= dropped;
  return slot.request_count() != 0;
}

bool BatchScheduler::next_batch(InstanceSlot& slot, uint32_t finished) noexcept {
  while (true) {
    Work work;
    bool filled = false;
    {
      std::lock_guard lock(mutex_);
      in_flight_ -= finished;
      int64_t now_ns = clock_.now_ns();
      if (finished != 0 && settings_.tuner != nullptr) {
        settings_.tuner->executed(slot.total_batch_size(), slot.last_duration_ns());
      }
      expire(now_ns, &work);
      filled = !queue_.empty() && queue_.size() >= settings_.hold_until && fill(slot, now_ns, &work);
      if (!filled) dispatcher_.put_idle(slot);
    }
    if (work.post_answers) post_answers();
    if (!filled) return false;
    if (drop_unwanted(slot)) return true;
    finished = 0;
  }
}

bool BatchScheduler::is_wanted(const Request& request) const noexcept {
  if (request.cancelled()) return false;
  return request.times.deadline_ns == 0 || clock_.now_ns() <= request.times.deadline_ns;
}

void BatchScheduler::refuse(Request& request, FailureReason reason, Status status) noexcept {
  if (reporter_ != nullptr) reporter_->report_failure(request, reason);
  fail_request(request, std::move(status));
}

Status BatchScheduler::too_late(const Request& request) const {
  return unavailable_for(request, settings_.tuner->refusal());
}

void BatchScheduler::on_cancel(void* context) noexcept {
  Inside inside(inside_);
  auto& request = *static_cast<Request*>(context);
  {
    std::lock_guard lock(mutex_);
    if (!queue_.contains(request)) return;  // an instance was quicker; it sees the flag
    former_.forget();
    queue_.remove(request);
    if (queue_.empty()) dispatcher_.nothing_due();
    cancelled_.push_back(request);
    if (!claim_answering()) return;
  }
  post_answers();
}

void BatchScheduler::look() noexcept {
  Work work;
  {
    std::lock_guard lock(mutex_);
    int64_t now_ns = clock_.now_ns();
    timer_.fired(now_ns);
    expire(now_ns, &work);
    fill_idle_instances(now_ns, &work);
    arm_for_timeouts();
  }
  run(work, true);
}

void BatchScheduler::post_answers() noexcept {
  answer_thread_->post(
      {[](void* self) { static_cast<BatchScheduler*>(self)->answer_refused(); }, this, nullptr});
}

void BatchScheduler::answer_refused() noexcept {
  uint64_t finished = 0;
  while (true) {
    Request* cancelled = nullptr;
    Request* expired = nullptr;
    Request* late = nullptr;
    {
      std::lock_guard lock(mutex_);
      in_flight_ -= std::exchange(finished, 1);
      if ((cancelled = cancelled_.pop_front()) == nullptr && (expired = expired_.pop_front()) == nullptr &&
          (late = late_.pop_front()) == nullptr) {
        answering_ = false;
        break;
      }
    }
    for (Request* request : {cancelled, expired, late}) {
      if (request != nullptr) request->cancellation.stop_listening();
    }
    if (cancelled != nullptr) refuse(*cancelled, FailureReason::kCanceled, cancelled_in_queue());
    if (expired != nullptr) refuse(*expired, FailureReason::kRejected, unavailable(kTimeoutExpired));
    if (late != nullptr) refuse(*late, FailureReason::kRejected, too_late(*late));
  }
  inside_.fetch_sub(1, std::memory_order_release);
}

void BatchScheduler::stop_accepting() noexcept {
  Inside inside(inside_);
  Work work;
  {
    std::lock_guard lock(mutex_);
    accepting_ = false;
    settings_.hold_until = 0;
    // Nobody can join a batch any more, so none waits for others.
    former_.set_delay(0);
    int64_t now_ns = clock_.now_ns();
    expire(now_ns, &work);
    fill_idle_instances(now_ns, &work);
  }
  run(work, false);
}

uint64_t BatchScheduler::in_flight() const noexcept {
  std::lock_guard lock(mutex_);
  return in_flight_;
}

}  // namespace atl::schedulers
