#include "admission/quotas/admission_control.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace atl::quotas {
namespace {

/// Weight of the newest value in a mean.
constexpr double kNewest = 0.125;
constexpr double kNewestOfAll = 1.0 / 64;
/// Waiting requests that are looked at to find one to shed.
constexpr int kCandidatesMax = 16;
/// Of a request, as long as none has ended.
constexpr double kFirstGuessNs = kNsPerMs;
/// Beyond this an estimate says nothing.
constexpr double kEstimateMaxMs = 60'000;
constexpr uint32_t kRetryAfterUnknownMs = 1'000;
/// Of the requests in flight, each level may take so many percent less than the one above it, down to half.
constexpr uint64_t kLevelPercent = 10;
constexpr uint64_t kLevelsApart = 5;

void update_mean(double value, double newest, double* mean) noexcept {
  *mean = *mean == 0 ? value : *mean + (value - *mean) * newest;
}

uint32_t to_ms(double ns, double limit_ms) noexcept {
  return static_cast<uint32_t>(std::clamp(std::ceil(ns / static_cast<double>(kNsPerMs)), 1.0, limit_ms));
}

}  // namespace

AdmissionControl::AdmissionControl(AdmissionSettings settings)
    : settings_(std::move(settings)),
      tenants_(settings_.tenants),
      monitor_(settings_.queue_delay_ns, settings_.queue_interval_ns) {}

AdmissionControl::Arrival AdmissionControl::arrive(Waiter& waiter, std::string_view name, int64_t now_ns,
                                                   DecidedList* decided) noexcept {
  Tenant& tenant = tenants_.find(name, now_ns);
  waiter.tenant = &tenant;
  waiter.quota = &tenant.quota;
  waiter.tenant_name = &tenant == &tenants_.default_tenant() ? kDefaultTenant : name;
  waiter.number = ++next_number_;
  waiter.since_ns = now_ns;
  if (waiter.cancelled) return refuse(waiter, Refusal::kCancelled);
  if (waiter.deadline_ns != 0 && waiter.deadline_ns <= now_ns) return refuse(waiter, Refusal::kDeadline);
  if (const int64_t debt_ns = tenant.tokens.debt_ns(now_ns); debt_ns != 0)
    return refuse(waiter, Refusal::kTokens, debt_ns);
  if (const int64_t wait_ns = tenant.bucket.take(now_ns); wait_ns != 0)
    return refuse(waiter, Refusal::kRate, wait_ns);
  // Behind those of its tenant that were there before, even where there is a slot for it.
  const bool runs_at_once = tenant.waiting.empty() && tenant.resuming == 0 && has_slot() && tenant.may_run();
  if (!make_room(waiter, runs_at_once, now_ns, decided)) {
    tenant.bucket.give_back();
    return Arrival::kRefused;
  }
  if (runs_at_once) {
    turns_.catch_up(tenant);
    admit(waiter, now_ns);
    observe(now_ns);
    return Arrival::kAdmitted;
  }
  enqueue(waiter, now_ns);
  grant(now_ns, decided);
  return Arrival::kWaits;
}

AdmissionControl::Arrival AdmissionControl::refuse(Waiter& waiter, Refusal reason, int64_t wait_ns) noexcept {
  waiter.state = Waiter::State::kDecided;
  waiter.refused = true;
  waiter.refusal = reason;
  waiter.at_own_limit = !waiter.tenant->may_run();
  waiter.retry_after_ms = wait_ns == 0 ? retry_after_ms(waiter, reason)
                                       : to_ms(static_cast<double>(wait_ns), static_cast<double>(UINT32_MAX));
  ++waiter.tenant->counts->refused[static_cast<size_t>(reason)];
  return Arrival::kRefused;
}

uint64_t AdmissionControl::in_flight_limit_of(uint64_t priority) const noexcept {
  const uint64_t levels = std::min(priority - 1, kLevelsApart);
  const uint64_t limit = settings_.in_flight_limit;
  return std::max<uint64_t>(1, limit - limit * levels * kLevelPercent / 100);
}

bool AdmissionControl::make_room(Waiter& arriving, bool runs_at_once, int64_t now_ns,
                                 DecidedList* decided) noexcept {
  Tenant& tenant = *arriving.tenant;
  const bool is_full = !runs_at_once && tenant.waiting.size() >= tenant.quota.queue;
  const bool is_slow = !runs_at_once && is_crowded();
  const bool is_over =
      settings_.in_flight_limit != 0 && running_ + waiting_ >= in_flight_limit_of(arriving.priority);
  if (!is_full && !is_slow && !is_over) return true;
  const Refusal reason = is_full   ? Refusal::kConcurrency
                         : is_over ? Refusal::kInFlight
                                   : Refusal::kQueueDelay;
  Waiter* other = is_full ? lower_of_tenant(arriving) : victim(arriving, now_ns, !is_over);
  if (other == nullptr) {
    (void)refuse(arriving, reason);
    return false;
  }
  shed(*other, reason, now_ns, decided);
  return true;
}

Waiter* AdmissionControl::lower_of_tenant(const Waiter& arriving) noexcept {
  const auto& waiting = arriving.tenant->waiting;
  if (waiting.empty() || (*waiting.rbegin())->priority <= arriving.priority) return nullptr;
  return *waiting.rbegin();
}

bool AdmissionControl::is_late(const Waiter& waiter, int64_t now_ns) const noexcept {
  return waiter.deadline_ns != 0 && static_cast<double>(waiter.deadline_ns - now_ns) < expected_ns_;
}

Waiter* AdmissionControl::worst(int64_t now_ns, bool held_up_only) const noexcept {
  const auto counts = [held_up_only](const Waiter& waiter) {
    return !held_up_only || waiter.tenant->may_run();
  };
  if (!by_deadline_.empty()) {
    Waiter& first = **by_deadline_.begin();
    if (is_late(first, now_ns) && counts(first)) return &first;
  }
  int left = kCandidatesMax;
  for (auto last = by_turn_.rbegin(); last != by_turn_.rend() && left != 0; ++last, --left) {
    if (counts(**last)) return *last;
  }
  return nullptr;
}

Waiter* AdmissionControl::victim(const Waiter& arriving, int64_t now_ns, bool held_up_only) const noexcept {
  if (is_late(arriving, now_ns)) return nullptr;
  Waiter* other = worst(now_ns, held_up_only);
  if (other == nullptr || is_late(*other, now_ns)) return other;
  return other->priority > arriving.priority ? other : nullptr;
}

uint64_t AdmissionControl::waiting_limit() const noexcept {
  const double turns = static_cast<double>(monitor_.target_ns()) / expected_ns_;
  return static_cast<uint64_t>(std::max(1.0, turns * static_cast<double>(settings_.concurrency)));
}

void AdmissionControl::observe(int64_t now_ns) noexcept {
  if (monitor_.target_ns() == 0) return;
  const double turns = static_cast<double>(held_up_) / static_cast<double>(settings_.concurrency);
  monitor_.observe(now_ns, static_cast<int64_t>(turns * expected_ns_));
}

void AdmissionControl::changed(Tenant& tenant) noexcept {
  turns_.update(tenant);
  const uint64_t limit = tenant.quota.concurrency;
  const uint64_t room = limit == 0 ? UINT64_MAX : limit - std::min(limit, tenant.running);
  held_up_ -= tenant.held_up;
  tenant.held_up = std::min<uint64_t>(tenant.waiting.size(), room);
  held_up_ += tenant.held_up;
}

double AdmissionControl::expected_ns(const Tenant& tenant) const noexcept {
  if (tenant.expected_ns != 0) return tenant.expected_ns;
  return expected_ns_ != 0 ? expected_ns_ : kFirstGuessNs;
}

uint32_t AdmissionControl::retry_after_ms(const Waiter& waiter, Refusal reason) const noexcept {
  const Tenant& tenant = *waiter.tenant;
  switch (reason) {
    case Refusal::kRate:
    case Refusal::kTokens:
    case Refusal::kDeadline:
    case Refusal::kCancelled:
      return 0;
    case Refusal::kConcurrency:
      if (tenant.expected_ns == 0 || tenant.quota.concurrency == 0) break;
      return to_ms(tenant.expected_ns * static_cast<double>(tenant.waiting.size() + 1) /
                       static_cast<double>(tenant.quota.concurrency),
                   kEstimateMaxMs);
    default:
      break;
  }
  if (expected_ns_ == 0) return kRetryAfterUnknownMs;
  const auto turns = static_cast<double>(waiting_ + 1) / static_cast<double>(std::max<uint64_t>(1, running_));
  return to_ms(expected_ns_ * std::max(1.0, turns), kEstimateMaxMs);
}

void AdmissionControl::admit(Waiter& waiter, int64_t now_ns) noexcept {
  Tenant& tenant = *waiter.tenant;
  const double expected = expected_ns(tenant);
  waiter.state = Waiter::State::kDecided;
  waiter.admitted_ns = now_ns;
  waiter.expected_ns = static_cast<int64_t>(expected);
  ++running_;
  ++tenant.running;
  ++tenant.counts->running;
  ++tenant.counts->admitted;
  turns_.begin(tenant, expected);
  changed(tenant);
}

void AdmissionControl::enqueue(Waiter& waiter, int64_t now_ns) noexcept {
  Tenant& tenant = *waiter.tenant;
  waiter.state = Waiter::State::kWaiting;
  if (settings_.max_wait_ns != 0) waiter.expires_ns = now_ns + settings_.max_wait_ns;
  if (waiter.deadline_ns != 0 && (waiter.expires_ns == 0 || waiter.deadline_ns < waiter.expires_ns)) {
    waiter.expires_ns = waiter.deadline_ns;
  }
  if (waiting_++ == 0) contended_since_ns_ = now_ns;
  ++tenant.counts->waiting;
  ++tenant.counts->waited;
  tenant.waiting.insert(&waiter);
  by_turn_.insert(&waiter);
  if (waiter.expires_ns != 0) by_expiry_.insert(&waiter);
  if (waiter.deadline_ns != 0) by_deadline_.insert(&waiter);
  changed(tenant);
}

void AdmissionControl::dequeue(Waiter& waiter, int64_t now_ns) noexcept {
  Tenant& tenant = *waiter.tenant;
  --waiting_;
  --tenant.counts->waiting;
  tenant.counts->wait_ns += now_ns - waiter.since_ns;
  tenant.waiting.erase(&waiter);
  by_turn_.erase(&waiter);
  by_expiry_.erase(&waiter);
  by_deadline_.erase(&waiter);
  changed(tenant);
}

void AdmissionControl::shed(Waiter& waiter, Refusal reason, int64_t now_ns, DecidedList* decided) noexcept {
  dequeue(waiter, now_ns);
  (void)refuse(waiter, reason);
  ++waiter.tenant->resuming;
  decided->push_back(waiter);
}

void AdmissionControl::grant(int64_t now_ns, DecidedList* decided) noexcept {
  while (has_slot()) {
    Tenant* tenant = turns_.next();
    if (tenant == nullptr) break;
    Waiter& waiter = **tenant->waiting.begin();
    if (waiter.deadline_ns != 0 && waiter.deadline_ns <= now_ns) {
      shed(waiter, Refusal::kDeadline, now_ns, decided);
      continue;
    }
    dequeue(waiter, now_ns);
    admit(waiter, now_ns);
    ++tenant->resuming;
    decided->push_back(waiter);
  }
  observe(now_ns);
  if (!is_crowded() || held_up_ == waiting_limit()) return;
  // One for each turn: the queue gets shorter twice as fast as it is served.
  if (Waiter* last = worst(now_ns, true); last != nullptr) shed(*last, Refusal::kQueueDelay, now_ns, decided);
}

void AdmissionControl::ended(Tenant& tenant, int64_t admitted_ns, int64_t expected, int64_t now_ns,
                             DecidedList* decided) noexcept {
  const auto ran_ns = static_cast<double>(std::max<int64_t>(1, now_ns - admitted_ns));
  update_mean(ran_ns, kNewest, &tenant.expected_ns);
  update_mean(ran_ns, kNewestOfAll, &expected_ns_);
  if (waiting_ != 0) {
    // Slots that nobody else wanted cost nothing.
    const auto contended_ns = static_cast<double>(now_ns - std::max(admitted_ns, contended_since_ns_));
    const double by_ns = contended_ns - static_cast<double>(expected);
    if (by_ns > 0 || admitted_ns >= contended_since_ns_) turns_.correct(tenant, by_ns);
  }
  --running_;
  --tenant.running;
  --tenant.counts->running;
  changed(tenant);
  grant(now_ns, decided);
}

void AdmissionControl::follow(AdmissionSettings settings, int64_t now_ns, DecidedList* decided) noexcept {
  if (settings.queue_delay_ns != settings_.queue_delay_ns ||
      settings.queue_interval_ns != settings_.queue_interval_ns) {
    monitor_ = DelayMonitor(settings.queue_delay_ns, settings.queue_interval_ns);
  }
  settings_ = std::move(settings);
  tenants_.follow(settings_.tenants);
  tenants_.for_each([this](Tenant& tenant) { changed(tenant); });
  grant(now_ns, decided);
}

void AdmissionControl::cancel(Waiter& waiter, int64_t now_ns, DecidedList* decided) noexcept {
  shed(waiter, Refusal::kCancelled, now_ns, decided);
}

void AdmissionControl::expire(int64_t now_ns, DecidedList* decided) noexcept {
  while (!by_expiry_.empty() && (*by_expiry_.begin())->expires_ns <= now_ns) {
    Waiter& waiter = **by_expiry_.begin();
    const bool is_deadline = waiter.deadline_ns != 0 && waiter.deadline_ns <= now_ns;
    shed(waiter, is_deadline ? Refusal::kDeadline : Refusal::kWait, now_ns, decided);
  }
}

}  // namespace atl::quotas
