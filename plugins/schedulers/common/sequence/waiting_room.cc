#include "schedulers/common/sequence/waiting_room.h"

#include <utility>

#include "schedulers/common/scheduler_messages.h"

namespace atl::schedulers {

const WaitRefusal kCancelledInQueue{FailureReason::kCanceled,
                                    [](const Request&, const void*) { return Status(Code::kCancelled, {}); }};
const WaitRefusal kExpiredInQueue{
    FailureReason::kRejected, [](const Request&, const void*) { return unavailable(kTimeoutExpiredText); }};

const WaitRefusal kCancelledByOperator{FailureReason::kCanceled, [](const Request& request, const void*) {
                                         return unavailable_for(request, kCancelledByOperatorText);
                                       }};

void WaitingRoom::refuse(Request& request, const WaitRefusal& why) noexcept {
  request.links.scheduler_data = const_cast<WaitRefusal*>(&why);
  refused_.push_back(request);
  ++leaving_;
  if (std::exchange(answering_, true)) return;
  inside_.fetch_add(1, std::memory_order_relaxed);  // the task's stay, which it ends itself
  answer_thread_->post(
      {[](void* self) { static_cast<WaitingRoom*>(self)->answer_refused(); }, this, nullptr});
}

bool WaitingRoom::expire_due(PolicyQueue& queue, int64_t now_ns) noexcept {
  RequestQueue rejected;
  const bool changed = queue.expire(now_ns, rejected);
  while (Request* request = rejected.pop_front()) refuse(*request, kExpiredInQueue);
  return changed;
}

void WaitingRoom::on_cancel(void* request) noexcept {
  Inside inside(inside_);
  std::lock_guard lock(mutex_);
  listener_.on_cancelled(*static_cast<Request*>(request));
}

Request* WaitingRoom::next_refused(bool another_answered) noexcept {
  std::lock_guard lock(mutex_);
  leaving_ -= another_answered;
  answering_ = !refused_.empty();
  return refused_.pop_front();
}

void WaitingRoom::answer_refused() noexcept {
  for (Request* request = next_refused(false); request != nullptr; request = next_refused(true)) {
    request->cancellation.stop_listening();
    answer(*request, *static_cast<const WaitRefusal*>(request->links.scheduler_data));
  }
  inside_.fetch_sub(1, std::memory_order_release);
}

void WaitingRoom::answer(Request& request, const WaitRefusal& why) noexcept {
  if (reporter_ != nullptr) reporter_->report_failure(request, why.reason);
  fail_request(request, why.status_for(request));
}

}  // namespace atl::schedulers
