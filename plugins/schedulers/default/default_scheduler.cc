#include "default_scheduler.h"

#include <thread>
#include <utility>

#include "common/scheduler_messages.h"

namespace atl::schedulers {

Result<std::unique_ptr<Scheduler>> DefaultScheduler::create(const SchedulerContext& context,
                                                            const DefaultSettings& settings,
                                                            AnswerThread answer_thread) {
  auto scheduler = std::make_unique<DefaultScheduler>(context, settings, std::move(answer_thread));
  ATOLL_RETURN_IF_ERROR(scheduler->dispatcher_.start(context));
  return std::unique_ptr<Scheduler>(std::move(scheduler));
}

DefaultScheduler::DefaultScheduler(const SchedulerContext& context, const DefaultSettings& settings,
                                   AnswerThread answer_thread) noexcept
    : settings_(settings),
      clock_(*context.clock),
      reporter_(context.reporter),
      answer_thread_(std::move(answer_thread)),
      dispatcher_(context, *this, settings.dispatcher) {}

DefaultScheduler::~DefaultScheduler() {
  // in_flight() is 0, so these are threads between their last answer and their return.
  while (inside_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

DefaultScheduler::Admission DefaultScheduler::admit(Request& request, InstanceSlot** slot) noexcept {
  std::lock_guard lock(mutex_);
  if (!accepting_) return Admission::kStopping;
  if (request.cancelled()) {
    ++in_flight_;
    return Admission::kNotWanted;
  }
  if (*slot = dispatcher_.take_idle(); *slot != nullptr) {
    ++in_flight_;
    return Admission::kRun;
  }
  if (settings_.queue_size_max != 0 && waiting_.size() >= settings_.queue_size_max)
    return Admission::kQueueFull;
  ++in_flight_;
  waiting_.push_back(request);
  if (request.cancellation.listen(this, &request)) return Admission::kQueued;
  waiting_.remove(request);
  return Admission::kNotWanted;
}

Status DefaultScheduler::enqueue(Request& request) noexcept {
  Inside inside(*this);
  if (request.times.queue_start_ns == 0) request.times.queue_start_ns = clock_.now_ns();
  InstanceSlot* slot = nullptr;
  switch (admit(request, &slot)) {
    case Admission::kRun:
      slot->clear_batch();
      slot->add(request);
      dispatcher_.dispatch(*slot);
      return {};
    case Admission::kQueued:
      return {};
    case Admission::kNotWanted: {
      refuse_to_run(request);
      std::lock_guard lock(mutex_);
      --in_flight_;
      return {};
    }
    case Admission::kStopping:
      return unavailable_for(request, kStopping);
    case Admission::kQueueFull:
      break;
  }
  return unavailable_for(request, kQueueFull);
}

bool DefaultScheduler::next_batch(InstanceSlot& slot, uint32_t finished) noexcept {
  while (true) {
    Request* request = nullptr;
    {
      std::lock_guard lock(mutex_);
      in_flight_ -= finished;
      request = waiting_.pop_front();
      if (request == nullptr) {
        dispatcher_.put_idle(slot);
        return false;
      }
    }
    // Waits for an on_cancel() that runs right now, so not under the lock, which that needs.
    request->cancellation.stop_listening();
    if (is_wanted(*request)) {
      slot.clear_batch();
      slot.add(*request);
      return true;
    }
    refuse_to_run(*request);
    finished = 1;
  }
}

bool DefaultScheduler::is_wanted(const Request& request) const noexcept {
  if (request.cancelled()) return false;
  return request.times.deadline_ns == 0 || clock_.now_ns() <= request.times.deadline_ns;
}

void DefaultScheduler::refuse_to_run(Request& request) noexcept {
  if (reporter_ != nullptr) reporter_->report_failure(request, FailureReason::kCanceled);
  fail_request(request, cancelled_in_queue());
}

void DefaultScheduler::on_cancel(void* context) noexcept {
  Inside inside(*this);
  auto& request = *static_cast<Request*>(context);
  {
    std::lock_guard lock(mutex_);
    if (!waiting_.contains(request)) return;  // an instance was quicker; it sees the flag
    waiting_.remove(request);
    cancelled_.push_back(request);
    if (std::exchange(answering_, true)) return;
    inside_.fetch_add(1, std::memory_order_relaxed);  // the task's stay, which it ends itself
  }
  answer_thread_->post(
      {[](void* self) { static_cast<DefaultScheduler*>(self)->answer_cancelled(); }, this, nullptr});
}

void DefaultScheduler::answer_cancelled() noexcept {
  uint64_t finished = 0;
  while (true) {
    Request* request = nullptr;
    {
      std::lock_guard lock(mutex_);
      in_flight_ -= std::exchange(finished, 0);
      request = cancelled_.pop_front();
      if (request == nullptr) {
        answering_ = false;
        break;
      }
    }
    request->cancellation.stop_listening();
    refuse_to_run(*request);
    finished = 1;
  }
  inside_.fetch_sub(1, std::memory_order_release);
}

void DefaultScheduler::stop_accepting() noexcept {
  std::lock_guard lock(mutex_);
  accepting_ = false;
}

uint64_t DefaultScheduler::in_flight() const noexcept {
  std::lock_guard lock(mutex_);
  return in_flight_;
}

}  // namespace atl::schedulers
