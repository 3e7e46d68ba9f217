#include "admission/quotas/request_gate.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "admission/quotas/metrics.h"
#include "admission/quotas/refusal_text.h"

namespace atl::quotas {
namespace {

/// Of requests that name no level, for a model that has none.
constexpr uint64_t kDefaultPriority = 1;

/// The client's deadline, or the time it says it would wait in a queue.
int64_t deadline_of(const Request& request, int64_t now_ns) noexcept {
  const int64_t deadline_ns = request.times.deadline_ns;
  const uint64_t limit_us = static_cast<uint64_t>(INT64_MAX - now_ns) / kNsPerUs;
  if (request.timeout_us == 0 || request.timeout_us >= limit_us) return deadline_ns;
  const int64_t timeout_ns = now_ns + static_cast<int64_t>(request.timeout_us) * kNsPerUs;
  return deadline_ns == 0 ? timeout_ns : std::min(deadline_ns, timeout_ns);
}

}  // namespace

RequestGate::RequestGate(AdmissionSettings settings, bool is_active, Clock& clock)
    : is_active_(is_active), clock_(clock), control_(std::move(settings)) {}

Status RequestGate::start(ExecutorFactory& executors, uint32_t threads) {
  if (!is_active_) return {};
  for (uint32_t i = 0; i < threads; ++i) {
    Result<SerialExecutorPtr> executor = executors.create(cat("admission-", i), {});
    if (!executor.ok()) {
      executors_.clear();
      return std::move(executor).status().note("thread that resumes waiting requests");
    }
    executors_.push_back(std::move(executor).value());
  }
  return {};
}

void RequestGate::stop() {
  // A task that runs reads executors_ until all of them have ended.
  for (SerialExecutorPtr& executor : executors_) executor->destroy();
  for (SerialExecutorPtr& executor : executors_) (void)executor.release();
  executors_.clear();
}

Result<AdmissionOutcome> RequestGate::ask(Request& request, uint64_t priority, AdmissionWaiter& caller,
                                          AdmissionTicket* ticket) noexcept {
  auto* waiter = request.arena().make<Waiter>();
  waiter->request = &request;
  waiter->caller = &caller;
  waiter->owner = this;
  waiter->priority = priority == 0 ? kDefaultPriority : priority;
  // Before it waits: afterwards it may be somebody else's at any moment.
  const bool listens = request.cancellation.listen(this, waiter);
  DecidedList decided;
  AdmissionControl::Arrival arrival;
  Status refusal;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = clock_.now_ns();
    waiter->deadline_ns = deadline_of(request, now_ns);
    waiter->cancelled = waiter->cancelled || !listens;
    arrival = control_.arrive(*waiter, request.tenant, now_ns, &decided);
    if (arrival == AdmissionControl::Arrival::kWaits) set_timer_locked();
    // The tenant may be forgotten and the limits may be others when the lock is gone.
    if (arrival == AdmissionControl::Arrival::kRefused) {
      refusal = refusal_status(*waiter, control_.settings());
    }
  }
  post(decided);
  if (arrival == AdmissionControl::Arrival::kWaits) return AdmissionOutcome::kWaits;
  if (listens) request.cancellation.stop_listening();
  if (arrival == AdmissionControl::Arrival::kAdmitted) {
    *ticket = ticket_of(*waiter);
    return AdmissionOutcome::kAdmitted;
  }
  request.retry_after_ms = waiter->retry_after_ms;
  return refusal;
}

void RequestGate::follow(AdmissionSettings settings) noexcept {
  DecidedList decided;
  {
    std::lock_guard lock(mutex_);
    control_.follow(std::move(settings), clock_.now_ns(), &decided);
  }
  post(decided);
}

AdmissionTicket RequestGate::ticket_of(const Waiter& waiter) noexcept {
  return {{reinterpret_cast<uint64_t>(waiter.tenant), static_cast<uint64_t>(waiter.admitted_ns),
           static_cast<uint64_t>(waiter.expected_ns)}};
}

void RequestGate::ended(const AdmissionTicket& ticket) noexcept {
  DecidedList decided;
  {
    std::lock_guard lock(mutex_);
    control_.ended(*reinterpret_cast<Tenant*>(ticket.data[0]), static_cast<int64_t>(ticket.data[1]),
                   static_cast<int64_t>(ticket.data[2]), clock_.now_ns(), &decided);
  }
  post(decided);
}

void RequestGate::used(const AdmissionTicket& ticket, const TokenUse& use) noexcept {
  std::lock_guard lock(mutex_);
  reinterpret_cast<Tenant*>(ticket.data[0])->use(use, clock_.now_ns());
}

void RequestGate::on_cancel(void* context) noexcept {
  auto& waiter = *static_cast<Waiter*>(context);
  DecidedList decided;
  {
    std::lock_guard lock(mutex_);
    if (waiter.state == Waiter::State::kNew) waiter.cancelled = true;
    if (waiter.state != Waiter::State::kWaiting) return;
    control_.cancel(waiter, clock_.now_ns(), &decided);
  }
  post(decided);
}

void RequestGate::set_timer_locked() noexcept {
  const int64_t next_ns = control_.next_expiry_ns();
  if (next_ns == 0 || (timer_ns_ != 0 && timer_ns_ <= next_ns)) return;
  if (timer_ns_ != 0) (void)executors_.front()->cancel(timer_);
  timer_ns_ = next_ns;
  timer_ = executors_.front()->post_at(
      next_ns, Task{[](void* gate) { static_cast<RequestGate*>(gate)->on_timer(); }, this, nullptr});
}

void RequestGate::on_timer() noexcept {
  DecidedList decided;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = clock_.now_ns();
    // One that was put off may run all the same, and there is another by then.
    if (timer_ns_ > now_ns) return;
    timer_ns_ = 0;
    control_.expire(now_ns, &decided);
    set_timer_locked();
  }
  post(decided);
}

void RequestGate::post(DecidedList& decided) noexcept {
  while (Waiter* waiter = decided.pop_front()) {  // it may be gone once it is posted
    executors_[waiter->tenant->index % executors_.size()]->post(
        Task{[](void* argument) { resume(argument); }, waiter, nullptr});
  }
}

void RequestGate::resume(void* argument) noexcept {
  auto& waiter = *static_cast<Waiter*>(argument);
  auto& gate = *static_cast<RequestGate*>(waiter.owner);
  Tenant& tenant = *waiter.tenant;
  Request& request = *waiter.request;
  request.cancellation.stop_listening();
  if (waiter.refused) {
    request.retry_after_ms = waiter.retry_after_ms;
    Status refusal;
    {
      std::lock_guard lock(gate.mutex_);
      refusal = refusal_status(waiter, gate.control_.settings());
    }
    waiter.caller->resume(request, std::move(refusal), {});
  } else {
    waiter.caller->resume(request, {}, ticket_of(waiter));
  }
  std::lock_guard lock(gate.mutex_);
  gate.control_.resumed(tenant);
}

uint64_t RequestGate::in_flight() const {
  std::lock_guard lock(mutex_);
  return control_.running() + control_.waiting();
}

void RequestGate::collect(MetricSink& sink) const noexcept {
  if (!is_active_) return;
  std::deque<TenantCounts> counts;
  bool overloaded = false;
  {
    std::lock_guard lock(mutex_);
    counts = control_.tenants().counts();
    overloaded = control_.overloaded();
  }
  write_metrics(counts, overloaded, sink);
}

}  // namespace atl::quotas
