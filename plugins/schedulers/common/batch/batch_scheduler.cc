#include "schedulers/common/batch/batch_scheduler.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "schedulers/common/scheduler_messages.h"

namespace atl::schedulers {
namespace {

WaitRefusal too_late_for(const BatchTuner* tuner) noexcept {
  return {FailureReason::kRejected,
          [](const Request& request, const void* one) {
            return unavailable_for(request, static_cast<const BatchTuner*>(one)->refusal());
          },
          tuner};
}

}  // namespace

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
      queue_(std::move(settings.queue)),
      settings_(std::move(settings)),
      former_(queue_, settings_.rules, settings_.compatibility, settings_.strategy.get()),
      too_late_(too_late_for(settings_.tuner.get())),
      order_(settings_.preserve_ordering ? std::make_unique<OrderedResponses>() : nullptr),
      waiting_(mutex_, clock_, context.reporter, std::move(answer_thread), *this),
      dispatcher_(context, *this, settings_.dispatcher) {}

// in_flight() is 0, so who is inside are threads between their last answer and their return.
BatchScheduler::~BatchScheduler() { waiting_.close(); }

// --- under the lock ---

BatchLoad BatchScheduler::load(int64_t now_ns) const noexcept {
  return {now_ns, queue_.total_weight(), dispatcher_.idle_count()};
}

void BatchScheduler::expire(int64_t now_ns) noexcept {
  if (!waiting_.expire(queue_, now_ns)) return;
  former_.forget();
  tell_left();
  if (queue_.empty()) dispatcher_.nothing_due();
}

/// Admission that decides by what waits knows so.
void BatchScheduler::tell_left() noexcept {
  if (dispatcher_.admissions().follows_queue()) dispatcher_.admissions().left(queue_.total_weight());
}

void BatchScheduler::run_at_once(Request& request, InstanceSlot& slot, InstanceSlot** due) {
  ++taken_;
  slot.clear_batch();
  if (order_ != nullptr) order_->reserve(request);
  slot.add(request);
  slot.next = nullptr;
  *due = &slot;
}

BatchScheduler::Admission BatchScheduler::admit(Request& request, int64_t now_ns, InstanceSlot** due) {
  // A request that is being executed may need its steps to end.
  if (!accepting_ && (request.call_flags & kIsStep) == 0)
    return stopped_ ? Admission::kStopping : Admission::kDraining;
  if (request.cancelled()) {
    ++taken_;
    return Admission::kNotWanted;
  }
  expire(now_ns);
  // Admission that knows the queues of all models has admitted it.
  const bool asks_tuner = settings_.tuner != nullptr && !dispatcher_.admissions().follows_queue();
  if (asks_tuner && !settings_.tuner->admit(request, load(now_ns))) return Admission::kTooLate;
  bool waits_for_others = settings_.tuner != nullptr || settings_.strategy != nullptr ||
                          settings_.rules.delay_ns != 0 || settings_.hold_until != 0;
  if (queue_.empty() && !waits_for_others && dispatcher_.takes_all()) {
    if (InstanceSlot* slot = dispatcher_.take_idle(); slot != nullptr) {
      run_at_once(request, *slot, due);
      return Admission::kTaken;
    }
  }
  if (!queue_.push(request, now_ns)) return Admission::kQueueFull;
  former_.arrived(request);
  if (dispatcher_.admissions().follows_queue()) dispatcher_.admissions().arrived(request);
  fill_idle_instances(now_ns, due);
  if (!queue_.contains(request)) return Admission::kTaken;
  if ((request.call_flags & kCallerHoldsResources) != 0) dispatcher_.admissions().insist();
  if (!waiting_.listen(request)) {
    queue_.remove(request);
    ++taken_;
    former_.forget();
    tell_left();
    return Admission::kNotWanted;
  }
  waiting_.arm_for_timeouts(queue_);
  return Admission::kTaken;
}

void BatchScheduler::fill_idle_instances(int64_t now_ns, InstanceSlot** due) {
  if (queue_.size() < settings_.hold_until) return;
  settings_.hold_until = 0;
  while (!queue_.empty()) {
    InstanceSlot* slot = dispatcher_.take_idle();
    if (slot == nullptr) return;
    if (!fill(*slot, now_ns)) {
      if (dispatcher_.put_idle(*slot)) return;
      continue;  // another one may find its resources
    }
    slot->next = std::exchange(*due, slot);
  }
}

/// Nobody can join a batch any more.
void BatchScheduler::stop_waiting_for_others(int64_t now_ns, InstanceSlot** due) {
  accepting_ = false;
  settings_.hold_until = 0;
  former_.set_delay(0);
  expire(now_ns);
  fill_idle_instances(now_ns, due);
}

/// What the front of the queue waits for.
QueueWait BatchScheduler::lacking() noexcept {
  if (dispatcher_.admissions().anybody_waits()) return QueueWait::kAdmission;
  if (dispatcher_.idle_count() != 0) return QueueWait::kBatch;
  const uint32_t weight = queue_.front()->batch_weight();
  const auto has_no_room = [&](const InstanceSlot& slot) {
    return slot.has_limited_room() && slot.backend().room() < weight;
  };
  return std::ranges::all_of(dispatcher_.slots(), has_no_room) ? QueueWait::kRoom : QueueWait::kInstance;
}

void BatchScheduler::set_window() {
  if (settings_.tuner == nullptr) return;
  if (dispatcher_.admissions().follows_queue()) return former_.set_window(settings_.rules.size_max, 0);
  const BatchTuner::Window window = settings_.tuner->window();
  former_.set_window(window.size_max, accepting_ ? window.delay_ns : 0);
}

/// What admission leaves of a due batch. \param ends_ns  set to when it expects its end; 0: it does not say
BatchDecision BatchScheduler::granted(const InstanceSlot& slot, const BatchDecision& due,
                                      int64_t* ends_ns) noexcept {
  *ends_ns = 0;
  if (!dispatcher_.admissions().follows_queue()) return due;
  const ExecutionGrant grant = dispatcher_.admissions().grant(slot.index());
  *ends_ns = grant.ends_ns;
  return former_.part_of(due, std::max(grant.batch_size_max, queue_.front()->batch_weight()));
}

bool BatchScheduler::fill(InstanceSlot& slot, int64_t now_ns) {
  set_window();
  while (true) {
    BatchDecision decision = former_.decide(now_ns);
    if (decision.count == 0) {
      waiting_.recheck_at(decision.recheck_ns);
      return false;
    }
    if (slot.has_limited_room()) {
      decision = former_.part_of(decision, slot.backend().room());
      if (decision.count == 0) {
        slot.wait_for_room(queue_.front()->batch_weight());
        return false;
      }
    }
    if (!dispatcher_.admit(slot, queue_.called_by_executions())) return false;
    int64_t ends_ns = 0;
    decision = granted(slot, decision, &ends_ns);
    former_.forget();
    if (drop_late(decision.size, ends_ns, now_ns)) continue;  // others take their places
    slot.clear_batch();
    taken_ += decision.count;
    for (uint32_t i = 0; i < decision.count; ++i) {
      Request& request = *queue_.front();
      queue_.remove(request);
      if (order_ != nullptr) order_->reserve(request);
      slot.add(request);
    }
    if (dispatcher_.admissions().follows_queue())
      dispatcher_.admissions().begins(slot.index(), slot.total_batch_size(), queue_.total_weight());
    if (queue_.empty()) dispatcher_.nothing_due();
    return true;
  }
}

bool BatchScheduler::in_time(const Request& request, uint32_t batch_size, int64_t ends_ns,
                             int64_t now_ns) noexcept {
  if (!dispatcher_.admissions().follows_queue()) return settings_.tuner->in_time(request, batch_size, now_ns);
  return ends_ns == 0 || settings_.tuner->ends_in_time(request, ends_ns);
}

/// \returns true if any was at the front.
bool BatchScheduler::drop_late(uint32_t batch_size, int64_t ends_ns, int64_t now_ns) noexcept {
  if (settings_.tuner == nullptr) return false;
  bool dropped = false;
  for (Request* first = queue_.front(); first != nullptr && !in_time(*first, batch_size, ends_ns, now_ns);
       first = queue_.front()) {
    queue_.remove(*first);
    waiting_.refuse(*first, too_late_);
    dropped = true;
  }
  if (dropped) tell_left();
  return dropped;
}

void BatchScheduler::on_cancelled(Request& request) noexcept {
  if (!queue_.contains(request)) return;  // an instance was quicker; it sees the flag
  former_.forget();
  queue_.remove(request);
  tell_left();
  if (queue_.empty()) dispatcher_.nothing_due();
  waiting_.refuse(request, kCancelledInQueue);
}

// --- without it ---

Status BatchScheduler::enqueue(Request& request) noexcept {
  Inside inside = waiting_.stay();
  int64_t now_ns = clock_.now_ns();
  if (request.times.queue_start_ns == 0) request.times.queue_start_ns = now_ns;
  InstanceSlot* due = nullptr;
  Admission admission;
  {
    std::lock_guard lock(mutex_);
    admission = admit(request, now_ns, &due);
  }
  dispatcher_.run(due, true);
  switch (admission) {
    case Admission::kTaken:
      return {};
    case Admission::kNotWanted: {
      waiting_.answer(request, kCancelledInQueue);
      std::lock_guard lock(mutex_);
      --taken_;
      return {};
    }
    case Admission::kStopping:
      return unavailable_for(request, kStoppingText);
    case Admission::kDraining:
      return unavailable_for(request, kDrainingText);
    case Admission::kTooLate:
      return too_late_.status_for(request);
    case Admission::kQueueFull:
      break;
  }
  return unavailable_for(request, kQueueFullText);
}

bool BatchScheduler::prepare(InstanceSlot& slot) noexcept {
  bool all_wanted = true;
  for (Request* request : slot.requests()) all_wanted = waiting_.end_wait(*request) && all_wanted;
  if (all_wanted) return true;
  uint32_t dropped = 0;
  slot.drop([&](Request& request) {
    if (waiting_.end_wait(request)) return false;
    waiting_.answer(request, kCancelledInQueue);
    ++dropped;
    return true;
  });
  std::lock_guard lock(mutex_);
  taken_ -= dropped;
  return slot.request_count() != 0;
}

bool BatchScheduler::next_batch(InstanceSlot& slot, uint32_t finished) noexcept {
  std::lock_guard lock(mutex_);
  taken_ -= finished;
  const int64_t now_ns = clock_.now_ns();
  if (finished != 0 && settings_.tuner != nullptr && !slot.was_cut_short()) {
    settings_.tuner->executed(slot.total_batch_size(), slot.last_duration_ns());
  }
  expire(now_ns);
  const bool filled = !queue_.empty() && queue_.size() >= settings_.hold_until && fill(slot, now_ns);
  if (!filled) dispatcher_.put_idle(slot);
  return filled;
}

bool BatchScheduler::give_way(InstanceSlot& slot, uint32_t finished) noexcept {
  {
    std::lock_guard lock(mutex_);
    taken_ -= finished;
    if (finished != 0 && settings_.tuner != nullptr) {
      settings_.tuner->executed(slot.total_batch_size(), slot.last_duration_ns());
    }
    dispatcher_.put_idle(slot);
  }
  std::this_thread::yield();
  InstanceSlot* due = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty()) {
      int64_t now_ns = clock_.now_ns();
      expire(now_ns);
      fill_idle_instances(now_ns, &due);
    }
  }
  dispatcher_.run(due, true);
  return true;
}

void BatchScheduler::recheck() noexcept {
  InstanceSlot* due = nullptr;
  {
    std::lock_guard lock(mutex_);
    int64_t now_ns = clock_.now_ns();
    waiting_.rechecked(now_ns);
    expire(now_ns);
    fill_idle_instances(now_ns, &due);
    waiting_.arm_for_timeouts(queue_);
  }
  dispatcher_.run(due, true);
}

void BatchScheduler::stop_accepting() noexcept {
  Inside inside = waiting_.stay();
  InstanceSlot* due = nullptr;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    stop_waiting_for_others(clock_.now_ns(), &due);
  }
  dispatcher_.run(due, false);
}

QueueDescription BatchScheduler::describe_queue() noexcept {
  QueueDescription found;
  std::lock_guard lock(mutex_);
  queue_.describe(found);
  found.is_draining = draining_;
  if (queue_.empty()) return found;
  found.waits_for = lacking();
  if (found.waits_for != QueueWait::kBatch) return found;
  const BatchCandidates& collected = former_.collected();
  found.batch_requests = collected.all.count;
  found.batch_size = collected.all.size;
  found.batch_size_max = former_.rules().size_max;
  const int64_t delay_ns = former_.rules().delay_ns;
  if (collected.all.count != 0 && delay_ns != 0 && collected.oldest_ns < DeadlineHeap::kNever - delay_ns)
    found.batch_goes_ns = collected.oldest_ns + delay_ns;
  return found;
}

uint64_t BatchScheduler::cancel_waiting(uint64_t level, uint64_t most) noexcept {
  Inside inside = waiting_.stay();
  std::lock_guard lock(mutex_);
  uint64_t taken = 0;
  for (Request* next = queue_.front_of(level); next != nullptr && taken < most;
       next = queue_.front_of(level)) {
    if (taken++ == 0) former_.forget();
    queue_.remove(*next);
    waiting_.refuse(*next, kCancelledByOperator);
  }
  if (taken == 0) return 0;
  tell_left();
  if (queue_.empty()) dispatcher_.nothing_due();
  return taken;
}

bool BatchScheduler::set_draining(bool draining) noexcept {
  Inside inside = waiting_.stay();
  InstanceSlot* due = nullptr;
  {
    std::lock_guard lock(mutex_);
    draining_ = draining;
    if (draining) {
      stop_waiting_for_others(clock_.now_ns(), &due);
    } else if (!stopped_) {
      accepting_ = true;
      former_.set_delay(settings_.rules.delay_ns);
    }
  }
  dispatcher_.run(due, false);
  return true;
}

uint64_t BatchScheduler::in_flight() const noexcept {
  std::lock_guard lock(mutex_);
  return queue_.size() + waiting_.leaving() + taken_;
}

}  // namespace atl::schedulers
