#include "schedulers/common/instances/instance_dispatcher.h"

#include <algorithm>
#include <utility>

#include "atoll/request/sink_interposer.h"

namespace atl::schedulers {
namespace {

/// Inline runs that this thread is inside of. Of trivial type, so it does not keep the plugin mapped.
thread_local uint32_t inline_depth = 0;

}  // namespace

/// Tells a slot that a request was cancelled when its execution let go of it: later there is no request to ask.
/// In the request's arena. The slot is there as long as the request's model is.
class ExecutionWatch final : public SinkInterposer {
 public:
  explicit ExecutionWatch(InstanceSlot& slot) noexcept : slot_(&slot) {}
  void move_to(InstanceSlot& slot) noexcept { slot_ = &slot; }
  void released(Request& request) noexcept override {
    if (request.cancelled()) slot_->saw_cancelled_.store(true, std::memory_order_relaxed);
    SinkInterposer::released(request);
  }

 private:
  InstanceSlot* slot_;
};

void InstanceSlot::clear_batch() noexcept {
  requests_.clear();
  total_batch_size_ = 0;
  deadline_ns_ = 0;
}

void InstanceSlot::add(Request& request) noexcept {
  requests_.push_back(&request);
  total_batch_size_ += request.batch_weight();
  int64_t deadline_ns = request.times.deadline_ns;
  if (deadline_ns != 0 && (deadline_ns_ == 0 || deadline_ns < deadline_ns_)) deadline_ns_ = deadline_ns;
}

void InstanceSlot::on_room() noexcept {
  if (waits_for_room_.exchange(false, std::memory_order_acq_rel)) dispatcher_->call_for(*this);
}

InstanceDispatcher::InstanceDispatcher(const SchedulerContext& context, BatchSource& source,
                                       const DispatcherLimits& limits) noexcept
    : source_(source),
      limits_(limits),
      clock_(*context.clock),
      executors_(*context.executors),
      reporter_(context.reporter),
      admissions_(context.admissions, *this),
      takes_all_(!admissions_.active()),
      slot_count_(context.instances.size()),
      slots_(std::make_unique<InstanceSlot[]>(context.instances.size())) {
  for (size_t i = slot_count_; i-- > 0;) {  // backwards, so that the first instance is taken first
    slots_[i].instance_ = context.instances[i];
    slots_[i].index_ = static_cast<uint32_t>(i);
    // What is bound to cores is never light enough for another thread.
    const bool bound = slots_[i].spec().is_bound();
    slots_[i].execution_time_ = ExecutionTime(bound ? 0 : limits.light_execution_ns);
    slots_[i].dispatcher_ = this;
    slots_[i].holds_resources_ = admissions_.active() && admissions_.holds_resources(slots_[i].index_);
    put_idle(slots_[i]);
  }
}

/// Nobody calls for the threads while they end.
InstanceDispatcher::~InstanceDispatcher() {
  admissions_.close();
  for (InstanceSlot& slot : slots()) {
    if (slot.has_limited_room_) slot.backend().remove_room_listener(slot);
  }
}

Status InstanceDispatcher::start() noexcept {
  for (InstanceSlot& slot : slots()) {
    slot.has_limited_room_ = slot.backend().add_room_listener(slot);
    takes_all_ = takes_all_ && !slot.has_limited_room_;
    // Who admits executions, or has room again, may call for the thread from where none can be made.
    if (slot.spec().is_bound() || admissions_.active() || slot.has_limited_room_) {
      ATOLL_RETURN_IF_ERROR(make_thread(slot));
    }
  }
  return {};
}

Status InstanceDispatcher::make_thread(InstanceSlot& slot) noexcept {
  Result<SerialExecutorPtr> executor = executors_.create(slot.spec().name, slot.spec().placement());
  if (!executor.ok()) {
    return std::move(executor).status().note(cat("thread of instance '", slot.spec().name, "'"));
  }
  slot.executor_ = std::move(executor).value();
  return {};
}

InstanceSlot* InstanceDispatcher::take_idle() noexcept {
  if (admissions_.active()) return take_next_in_turn();
  InstanceSlot* slot = idle_;
  if (slot == nullptr) return nullptr;
  idle_ = slot->next;
  --idle_count_;
  return slot;
}

InstanceSlot* InstanceDispatcher::take_next_in_turn() noexcept {
  InstanceSlot** first = nullptr;
  for (InstanceSlot** link = &idle_; *link != nullptr; link = &(*link)->next) {
    if (first == nullptr || admissions_.turn((*link)->index_) < admissions_.turn((*first)->index_))
      first = link;
  }
  if (first == nullptr) return nullptr;
  --idle_count_;
  return std::exchange(*first, (*first)->next);
}

bool InstanceDispatcher::take(InstanceSlot& slot) noexcept {
  for (InstanceSlot** link = &idle_; *link != nullptr; link = &(*link)->next) {
    if (*link != &slot) continue;
    *link = slot.next;
    --idle_count_;
    return true;
  }
  return false;
}

bool InstanceDispatcher::may_be_idle(InstanceSlot& slot) noexcept {
  const uint32_t wanted = std::exchange(slot.room_wanted_, 0);
  if (admissions_.active() && !admissions_.let_go(slot.index_, slot.executed_)) return false;
  if (wanted == 0) return true;
  slot.waits_for_room_.exchange(true, std::memory_order_acq_rel);
  // Room that came before it was waited for was told to nobody.
  if (slot.backend().room() >= wanted) slot.on_room();
  return false;
}

bool InstanceDispatcher::put_idle(InstanceSlot& slot) noexcept {
  if (!takes_all_ && !may_be_idle(slot)) return false;
  slot.next = idle_;
  idle_ = &slot;
  ++idle_count_;
  return true;
}

bool InstanceDispatcher::ask_for(InstanceSlot& slot, bool insists) noexcept {
  bool admitted = admissions_.admit(slot.index_, &slot, slot.executed_, insists);
  slot.executed_ = false;
  return admitted;
}

void InstanceDispatcher::withdraw_all() noexcept {
  admissions_.withdraw([this](uint32_t index) { put_idle(slots_[index]); });
}

bool InstanceDispatcher::may_run_inline(const InstanceSlot& slot) const noexcept {
  return inline_depth < limits_.inline_depth_max && slot.execution_time_.is_light();
}

void InstanceDispatcher::run(InstanceSlot* due, bool here) noexcept {
  while (due != nullptr) {
    InstanceSlot& slot = *due;
    due = std::exchange(slot.next, nullptr);
    if (!source_.prepare(slot) && !fill(slot, 0)) continue;
    if (here && due == nullptr && may_run_inline(slot)) {
      run_here(slot);
    } else {
      hand_over(slot);
    }
  }
}

/// \returns false if it has no batch any more, and is not to be touched
bool InstanceDispatcher::fill(InstanceSlot& slot, uint32_t finished) noexcept {
  while (source_.next_batch(slot, finished)) {
    if (source_.prepare(slot)) return true;
    finished = 0;
  }
  return false;
}

void InstanceDispatcher::run_here(InstanceSlot& slot) noexcept {
  ++inline_depth;
  bool more = true;
  for (uint32_t batches = 0; more; ++batches) {
    if (batches == limits_.inline_batches_max || !slot.execution_time_.is_light()) {
      hand_over(slot);
      break;
    }
    uint32_t finished = slot.request_count();
    execute(slot);
    more = fill(slot, finished);
  }
  --inline_depth;
}

void InstanceDispatcher::hand_over(InstanceSlot& slot) noexcept {
  while (slot.executor_ == nullptr) {
    Status made = make_thread(slot);
    if (made.ok()) break;
    const uint32_t finished = slot.request_count();
    fail_batch(slot, made, FailureReason::kOther);
    if (!fill(slot, finished)) return;
  }
  slot.executor_->post({&run_on_executor, &slot, nullptr});
}

void InstanceDispatcher::admitted(void* slot) noexcept { call_for(*static_cast<InstanceSlot*>(slot)); }

/// Others may be in the middle of their own execution, so not here.
void InstanceDispatcher::call_for(InstanceSlot& slot) noexcept {
  slot.executor_->post({&run_if_due, &slot, nullptr});
}

void InstanceDispatcher::run_if_due(void* raw) noexcept {
  auto& slot = *static_cast<InstanceSlot*>(raw);
  if (slot.dispatcher_->fill(slot, 0)) run_on_executor(raw);
}

/// Only of executions on the slot's own thread. Those on others' are of a model that is known to be light, and
/// here is where it becomes known.
void InstanceDispatcher::watch(InstanceSlot& slot) noexcept {
  if (slot.has_limited_room_) return;  // it answers later, however long that takes
  for (Request* request : slot.requests_) {
    // One that was rescheduled has its watch already.
    auto* before = request->rescheduler == nullptr ? nullptr : SinkInterposer::find<ExecutionWatch>(*request);
    if (before != nullptr) {
      before->move_to(slot);
    } else {
      request->arena().make<ExecutionWatch>(slot)->interpose(*request);
    }
  }
}

void InstanceDispatcher::run_on_executor(void* raw) noexcept {
  auto& slot = *static_cast<InstanceSlot*>(raw);
  InstanceDispatcher& self = *slot.dispatcher_;
  bool more = true;
  for (uint32_t light = 0; more;) {
    uint32_t finished = slot.request_count();
    watch(slot);
    self.execute(slot);
    // Under load the queue is never empty. What once came here, for a moment in which executions were long,
    // would have its hops for ever.
    light = slot.execution_time_.is_light() ? light + 1 : 0;
    if (light >= self.limits_.inline_batches_max) {
      if (self.source_.give_way(slot, finished)) return;
      light = 0;
    }
    more = self.fill(slot, finished);
  }
}

void InstanceDispatcher::execute(InstanceSlot& slot) noexcept {
  slot.executed_ = true;
  if (slot.holds_resources_) {
    for (Request* request : slot.requests_) request->call_flags |= kHoldsResources;
  }
  int64_t start_ns = clock_.now_ns();
  Batch batch{.requests = slot.requests_,
              .total_batch_size = slot.total_batch_size_,
              .deadline_ns = slot.deadline_ns_};
  Status status = slot.backend().execute(batch);
  slot.last_duration_ns_ = clock_.now_ns() - start_ns;
  slot.was_cut_short_ = slot.saw_cancelled_.load(std::memory_order_relaxed);
  if (slot.was_cut_short_) slot.saw_cancelled_.store(false, std::memory_order_relaxed);
  slot.execution_time_.add(slot.last_duration_ns_, slot.was_cut_short_);
  if (!status.ok()) fail_batch(slot, status, FailureReason::kBackend);
}

void InstanceDispatcher::fail_batch(const InstanceSlot& slot, const Status& status,
                                    FailureReason reason) noexcept {
  for (Request* request : slot.requests_) {
    if (reporter_ != nullptr) reporter_->report_failure(*request, reason);
    fail_request(*request, status.clone());
  }
}

}  // namespace atl::schedulers
