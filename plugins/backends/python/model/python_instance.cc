#include "backends/python/model/python_instance.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "atoll/core/text.h"

namespace atl::python {
namespace {

constexpr int64_t kLongestPauseNs = 30 * kNsPerSecond;
/// How exact times are kept that a worker may take.
constexpr int64_t kLookNs = 100 * kNsPerMs;
constexpr int64_t kIdleNs = 10 * kNsPerSecond;

/// 0, 1, 2, 4 .. 30 s.
int64_t pause_ns(uint32_t failures) {
  if (failures == 0) return 0;
  return std::min(kLongestPauseNs, kNsPerSecond << std::min(failures - 1, 10u));
}

std::string seconds_text(int64_t ns) {
  return ns % kNsPerSecond == 0 ? cat(ns / kNsPerSecond, " s") : cat(ns / kNsPerMs, " ms");
}

}  // namespace

PythonInstance::PythonInstance(const WorkerContext& context, InstanceGroup& group, ExecutionContext execution,
                               InstancePlan plan)
    : context_(context), group_(group), execution_(std::move(execution)), plan_(std::move(plan)) {}

Result<std::unique_ptr<PythonInstance>> PythonInstance::create(const WorkerContext& context,
                                                               InstanceGroup& group,
                                                               ExecutionContext execution,
                                                               InstancePlan plan) {
  std::unique_ptr<PythonInstance> made(
      new PythonInstance(context, group, std::move(execution), std::move(plan)));
  group.add(*made);
  ATOLL_RETURN_IF_ERROR(made->start_worker());
  context.loop.call([&] { made->arm_timers(); });
  Status failure;
  {
    std::unique_lock lock(made->mutex_);
    made->changed_.wait(lock,
                        [&] { return made->was_ready_ || made->first_ends_ || !made->initialized_.ok(); });
    if (!made->was_ready_) {
      failure = made->initialized_.ok() ? unavailable(made->reason_) : made->initialized_.clone();
    }
  }
  if (!failure.ok()) return failure;
  return made;
}

PythonInstance::~PythonInstance() {
  group_.remove(*this);
  bool was_ready = false;
  context_.loop.call([&] {
    std::lock_guard lock(mutex_);
    was_ready = state_.exchange(State::kEnding) == State::kReady;
    for (WorkerLoop::Timer timer : {restart_timer_, start_timer_, look_timer_, idle_timer_})
      context_.loop.cancel(timer);
  });
  if (std::shared_ptr<ModelWorker> last = worker(); last != nullptr) {
    if (const std::string why = last->finalize(plan_.stop_timeout_ns); !why.empty())
      context_.log.warning("worker '", plan_.worker.name, "' ", why);
    std::lock_guard lock(mutex_);
    worker_.reset();
  }
  context_.loop.call([] {});  // what was posted has run
  if (was_ready) group_.change_ready(-1);
}

std::shared_ptr<ModelWorker> PythonInstance::worker() const {
  std::lock_guard lock(mutex_);
  return worker_;
}

bool PythonInstance::ready() const noexcept {
  const std::shared_ptr<ModelWorker> used = has_worker() ? worker() : nullptr;
  return used != nullptr && used->is_model_ready();
}

std::string PythonInstance::unready_reason() const {
  if (has_worker())
    return ready() ? std::string() : std::string("the model's is_ready() says that it is not");
  std::lock_guard lock(mutex_);
  return reason_;
}

void PythonInstance::set_reason(std::string reason) {
  std::lock_guard lock(mutex_);
  reason_ = std::move(reason);
}

// --- requests ---

/// Without a worker, and while no instance has one and none is being started, requests are let in to be refused: they need not wait for ever.
uint32_t PythonInstance::room() const noexcept {
  const State state = state_.load(std::memory_order_acquire);
  const bool takes = state == State::kReady || (state == State::kWaiting && !group_.is_any_ready());
  return takes && !is_busy_.load(std::memory_order_acquire) ? std::numeric_limits<uint32_t>::max() : 0;
}

Status PythonInstance::execute(const Batch& batch) noexcept {
  const int64_t start_ns = context_.clock.now_ns();
  is_busy_.store(true, std::memory_order_release);
  bool is_any_bad = false;
  const std::vector<Request*> good = take_good(batch.requests, is_any_bad);
  const std::span<Request* const> requests = is_any_bad ? std::span<Request* const>(good) : batch.requests;
  Status status = execute(requests, start_ns);
  if (status.ok() && !requests.empty()) return {};
  on_returned();
  if (!is_any_bad) return status;
  for (Request* request : good) refuse(*request, status.clone());
  return {};
}

Status PythonInstance::execute(std::span<Request* const> requests, int64_t start_ns) noexcept {
  if (requests.empty()) return {};
  const std::shared_ptr<ModelWorker> used = has_worker() ? worker() : nullptr;
  if (used == nullptr) return unavailable(unready_reason());
  return used->execute(requests, start_ns);
}

/// Answers those that no worker can be given. \returns the others, if there are such
std::vector<Request*> PythonInstance::take_good(std::span<Request* const> requests,
                                                bool& is_any_bad) noexcept {
  std::vector<Request*> good;
  for (size_t i = 0; i < requests.size(); ++i) {
    Status status = check_inputs(*requests[i], context_.devices);
    if (status.ok()) {
      if (is_any_bad) good.push_back(requests[i]);
      continue;
    }
    if (!std::exchange(is_any_bad, true))
      good.assign(requests.begin(), requests.begin() + static_cast<ptrdiff_t>(i));
    refuse(*requests[i], std::move(status));
  }
  return good;
}

void PythonInstance::refuse(Request& request, Status failure) noexcept {
  if (execution_.reporter != nullptr) execution_.reporter->report_request(request, false, {});
  fail_request(request, std::move(failure));
}

void PythonInstance::on_returned() noexcept {
  is_busy_.store(false, std::memory_order_release);
  on_group_changed();
}

void PythonInstance::on_group_changed() noexcept {
  if (room() != 0) listeners_.notify();
}

// --- workers ---

Status PythonInstance::start_worker() {
  {
    std::lock_guard lock(mutex_);
    initialized_ = {};
    reason_ = last_end_.empty() ? cat("worker '", plan_.worker.name, "' is being started")
                                : cat(last_end_, "; the next one is being started");
  }
  Result<std::unique_ptr<ModelWorker>> started =
      ModelWorker::start(context_, plan_.worker, plan_.start, execution_, *this);
  if (!started.ok()) return std::move(started).status();
  std::lock_guard lock(mutex_);
  worker_ = std::move(started).value();
  return {};
}

void PythonInstance::set_state(State state) {
  State before;
  {
    std::lock_guard lock(mutex_);
    before = state_.load();
    if (before == State::kEnding) return;
    was_ready_ = was_ready_ || state == State::kReady;
    state_.store(state, std::memory_order_release);
    changed_.notify_all();
  }
  const bool was_ready = before == State::kReady, is_ready = state == State::kReady;
  if (was_ready != is_ready) {
    group_.change_ready(is_ready ? 1 : -1);
  } else {
    on_group_changed();
  }
}

void PythonInstance::on_initialized(Status status) noexcept {
  if (status.ok()) return set_state(State::kReady);
  {
    std::lock_guard lock(mutex_);
    initialized_ = std::move(status);
    changed_.notify_all();
  }
  context_.loop.post([this] {
    if (const auto failed = worker(); failed != nullptr)
      failed->kill("is ended because it cannot be initialised");
  });
}

/// Before its requests are answered, so that who has the answer does not find the instance ready. Others wait if the next worker comes at once.
void PythonInstance::on_gone(const std::string& how, bool has_worked) noexcept {
  if (has_worked) failures_ = 0;
  {
    std::lock_guard lock(mutex_);
    if (was_ready_ && state_.load() != State::kEnding) execution_.counts->add_death();
    last_end_ = initialized_.ok()
                    ? how
                    : cat("worker '", plan_.worker.name, "' cannot be initialised: ", initialized_.message());
    reason_ = last_end_;
    const int64_t pause = pause_ns(failures_);
    const std::string when = pause == 0 ? "at once" : "in " + seconds_text(pause);
    if (was_ready_) reason_ += "; the next one is started " + when;
  }
  is_busy_.store(false, std::memory_order_release);
  set_state(pause_ns(failures_) == 0 ? State::kStarting : State::kWaiting);
}

void PythonInstance::on_ended(const std::string&) noexcept {
  context_.loop.post([this] { renew(); });
}

void PythonInstance::renew() {
  context_.loop.cancel(start_timer_);
  std::shared_ptr<ModelWorker> last;
  {
    std::lock_guard lock(mutex_);
    if (state_.load() == State::kEnding) return;
    last = std::move(worker_);
    if (!was_ready_) {
      first_ends_ = true;
      changed_.notify_all();
      return;
    }
  }
  context_.log.error(unready_reason());
  const int64_t due_ns = context_.clock.now_ns() + pause_ns(failures_++);
  restart_timer_ = context_.loop.at(due_ns, [this] { restart(); });
}

void PythonInstance::restart() {
  set_state(State::kStarting);
  Status started = start_worker();
  if (started.ok()) {
    execution_.counts->add_restart();
    return arm_timers();
  }
  set_state(State::kWaiting);
  const int64_t pause = pause_ns(++failures_);
  set_reason(cat("worker '", plan_.worker.name, "' cannot be started: ", started.text(),
                 "; it is tried again in ", pause / kNsPerSecond, " s"));
  restart_timer_ = context_.loop.at(context_.clock.now_ns() + pause, [this] { restart(); });
}

// --- time ---

void PythonInstance::arm_timers() {
  const int64_t now_ns = context_.clock.now_ns();
  if (plan_.start_timeout_ns != 0) {
    start_timer_ = context_.loop.at(now_ns + plan_.start_timeout_ns, [this] { check_start(); });
  }
  if (plan_.execute_timeout_ns != 0 && look_timer_ == 0) check_execution();
  if (idle_timer_ == 0) check_idle();
}

/// Memory that large requests have left goes back when none comes for a while.
void PythonInstance::check_idle() {
  if (const auto used = has_worker() ? worker() : nullptr; used != nullptr) {
    const uint64_t batches = used->batches();
    if (batches == batches_seen_) used->trim();
    batches_seen_ = batches;
  }
  idle_timer_ = context_.loop.at(context_.clock.now_ns() + kIdleNs, [this] { check_idle(); });
}

void PythonInstance::check_start() {
  if (has_worker()) return;
  if (const auto late = worker(); late != nullptr) {
    late->kill(cat("is killed because it was not ready within ", seconds_text(plan_.start_timeout_ns)));
  }
}

void PythonInstance::check_execution() {
  const int64_t now_ns = context_.clock.now_ns();
  const auto used = has_worker() ? worker() : nullptr;
  const int64_t since_ns = used == nullptr ? 0 : used->running_since_ns();
  if (since_ns != 0 && now_ns - since_ns >= plan_.execute_timeout_ns) {
    used->kill(
        cat("is killed because execute() has not returned within ", seconds_text(plan_.execute_timeout_ns)));
  }
  look_timer_ = context_.loop.at(now_ns + std::min(kLookNs, plan_.execute_timeout_ns / 4 + 1),
                                 [this] { check_execution(); });
}

}  // namespace atl::python
