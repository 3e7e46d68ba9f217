#include "schedulers/common/sequence/sequence_scheduler.h"

#include <algorithm>
#include <utility>

#include "atoll/request/owned_sequence.h"
#include "schedulers/common/scheduler_messages.h"
#include "schedulers/common/sequence/describe_sequences.h"

namespace atl::schedulers {
namespace {

bool waits(const Request& request) noexcept { return request.links.queue != nullptr; }

/// Whether nothing is executed before more requests wait.
bool is_held_back(const SequenceSettings& settings) noexcept {
  return settings.hold_until != 0 || settings.hold_until_backlog != 0;
}

/// What does not fit is cut off, unless the batch has to be whole.
bool fits_room(InstanceSlot& slot, std::vector<Sequence*>& formed, bool is_whole) noexcept {
  const uint32_t room = slot.backend().room();
  if (formed.size() <= room) return true;
  if (room == 0 || is_whole) {
    slot.wait_for_room(is_whole ? static_cast<uint32_t>(formed.size()) : 1);
    return false;
  }
  formed.resize(room);
  return true;
}

const WaitRefusal kExpiredInBacklog{FailureReason::kRejected, [](const Request&, const void*) {
                                      return unavailable(kSequenceTimeoutExpiredText);
                                    }};

std::string text_of(const SequenceId& id) { return id.text.empty() ? cat(id.number) : std::string(id.text); }

const WaitRefusal kEndedWithVersion{
    FailureReason::kRejected, [](const Request&, const void*) { return unavailable(kSequenceEndedText); }};

}  // namespace

Result<std::unique_ptr<Scheduler>> SequenceScheduler::create(const SchedulerContext& context,
                                                             SequenceSettings settings,
                                                             AnswerThread answer_thread) {
  settings.limits.instances = static_cast<uint32_t>(context.instances.size());
  auto scheduler =
      std::make_unique<SequenceScheduler>(context, std::move(settings), std::move(answer_thread));
  ATOLL_RETURN_IF_ERROR(scheduler->dispatcher_.start());
  return std::unique_ptr<Scheduler>(std::move(scheduler));
}

SequenceScheduler::SequenceScheduler(const SchedulerContext& context, SequenceSettings settings,
                                     AnswerThread answer_thread)
    : clock_(*context.clock),
      reporter_(context.reporter),
      model_name_(context.model_name),
      settings_(std::move(settings)),
      states_(std::move(settings_.states), *settings_.state_memory),
      table_(settings_.limits),
      order_(settings_.preserve_ordering ? std::make_unique<OrderedResponses>() : nullptr),
      waiting_(mutex_, clock_, context.reporter, std::move(answer_thread), *this),
      dispatcher_(context, *this, settings_.dispatcher) {
  for (uint32_t i = 0; i < settings_.limits.instances; ++i)
    instances_.push_back(std::make_unique<Instance>(settings_.compatibility, states_));
}

// in_flight() is 0, so who is inside are threads between their last answer and their return.
SequenceScheduler::~SequenceScheduler() { waiting_.close(); }

// --- under the lock ---

SequenceScheduler::Entry& SequenceScheduler::new_entry() {
  if (unused_entries_.empty()) {
    entries_.emplace_back(new Entry(*this));
    unused_entries_.reserve(entries_.size());  // so that giving one back needs no memory
    unused_entries_.push_back(entries_.back().get());
  }
  Entry& entry = *unused_entries_.back();
  unused_entries_.pop_back();
  entry.is_ordered = false;
  ++in_flight_;
  return entry;
}

SequenceScheduler::Admission SequenceScheduler::admit(Request& request, int64_t now_ns, InstanceSlot** due) {
  const bool begins = settings_.iterative || (request.sequence_flags & kSequenceStart) != 0;
  // A request that is being executed may need its steps to end.
  const bool is_step = (request.call_flags & kIsStep) != 0;
  if (begins && (intake_ == Intake::kEnded || (intake_ != Intake::kOpen && !is_step)))
    return intake_ == Intake::kDraining ? Admission::kDraining : Admission::kStopping;
  if (table_.next_due_ns() <= now_ns) {
    time_passes(now_ns);
    fill_all_idle(now_ns, due);
  }
  if (settings_.queue_size_max != 0 && table_.waiting() >= settings_.queue_size_max)
    return Admission::kQueueFull;
  Sequence* sequence = add_to_sequence(request, now_ns);
  if (sequence == nullptr) return Admission::kNotStarted;
  Entry& entry = new_entry();
  entry.sequence = sequence;
  entry.watch(request);
  request.links.scheduler_data = &entry;
  if (settings_.iterative) request.rescheduler = this;
  release_if_enough_wait(now_ns);
  if (sequence->has_slot()) fill_idle(sequence->slot().instance, now_ns, due);
  if (waits(request)) wait_in_line(request);
  settle(now_ns);
  return Admission::kTaken;
}

/// \returns null if the request is not the first of a sequence and its sequence is not open
Sequence* SequenceScheduler::add_to_sequence(Request& request, int64_t now_ns) {
  if (settings_.iterative && request.sequence.empty()) {
    // One that a client has given may be open, and 0 is none.
    do request.sequence.number = next_id_++;
    while (request.sequence.number == 0 || table_.is_anybodys(request.sequence));
    request.sequence_flags |= kSequenceStart;
  }
  const uint64_t open_before = table_.open();
  Sequence* sequence = table_.add(request, now_ns);
  // Of one that is with an instance the state is not for us to look at.
  if (sequence != nullptr && !sequence->is_running() && sequence->state != nullptr)
    states_.prefetch(*sequence->state);
  const bool begins_again = (request.sequence_flags & kSequenceStart) != 0 && table_.open() == open_before;
  if (begins_again && settings_.log != nullptr && !std::exchange(warned_, true)) {
    settings_.log->warning("model '", model_name_, "': sequence ", text_of(request.sequence),
                           " is begun again before it has ended; it goes on in the same slot with its state ",
                           "anew. Further ones are not logged");
  }
  return sequence;
}

/// A request that could not go at once is listened for.
void SequenceScheduler::wait_in_line(Request& request) {
  if ((request.call_flags & kCallerHoldsResources) != 0) dispatcher_.admissions().insist();
  if (!waiting_.listen(request)) on_cancelled(request);
}

/// For tests that hold requests back until enough of them wait.
void SequenceScheduler::release_if_enough_wait(int64_t now_ns) noexcept {
  if (!is_held_back(settings_)) return;
  const uint64_t in_backlog = table_.waiting_in_backlog();
  if (table_.waiting() - in_backlog < settings_.hold_until || in_backlog < settings_.hold_until_backlog)
    return;
  settings_.hold_until = settings_.hold_until_backlog = 0;
  waiting_.recheck_at(now_ns);
}

bool SequenceScheduler::fill(InstanceSlot& slot, int64_t now_ns) {
  Instance& instance = *instances_[slot.index()];
  if (is_held_back(settings_) || (settings_.strategy->keeps_rows() && instance.unreleased != 0)) return false;
  instance.formed.clear();
  waiting_.recheck_at(settings_.strategy->form(table_, slot.index(), now_ns, instance.formed));
  if (instance.formed.empty()) return false;
  if (slot.has_limited_room() && !fits_room(slot, instance.formed, settings_.strategy->keeps_rows()))
    return false;
  const bool insists = std::ranges::any_of(instance.formed, [](const Sequence* sequence) {
    return sequence != nullptr && (sequence->front()->call_flags & kCallerHoldsResources) != 0;
  });
  if (!dispatcher_.admit(slot, insists)) return false;
  instance.batch.clear();
  for (Sequence* sequence : instance.formed) {
    instance.batch.push_back(sequence == nullptr ? nullptr : &table_.take(*sequence));
    if (sequence == nullptr) continue;
    ++instance.unreleased;
    Request& request = *instance.batch.back();
    if (order_ != nullptr && !std::exchange(entry_of(request).is_ordered, true)) order_->reserve(request);
  }
  return true;
}

void SequenceScheduler::fill_idle(uint32_t instance, int64_t now_ns, InstanceSlot** due) {
  InstanceSlot& slot = dispatcher_.slots()[instance];
  if (table_.ready(instance).size() == 0 || !dispatcher_.take(slot)) return;
  if (fill(slot, now_ns)) {
    slot.next = std::exchange(*due, &slot);
  } else {
    dispatcher_.put_idle(slot);
  }
}

void SequenceScheduler::fill_all_idle(int64_t now_ns, InstanceSlot** due) {
  for (uint32_t i = 0; i < instances_.size(); ++i) fill_idle(i, now_ns, due);
}

void SequenceScheduler::refuse_all(RequestQueue& waiting, const WaitRefusal& why) noexcept {
  while (Request* request = waiting.pop_front()) {
    entry_of(*request).sequence = nullptr;
    waiting_.refuse(*request, why);
  }
}

void SequenceScheduler::end_sequence(Sequence& sequence, int64_t now_ns, const WaitRefusal& why) noexcept {
  RequestQueue waiting;
  table_.end(sequence, now_ns, waiting);
  refuse_all(waiting, why);
}

void SequenceScheduler::expire_backlog(int64_t now_ns) noexcept {
  RequestQueue expired;
  if (table_.expire(now_ns, expired) != 0) refuse_all(expired, kExpiredInBacklog);
}

void SequenceScheduler::time_passes(int64_t now_ns) noexcept {
  expire_backlog(now_ns);
  settings_.figures->idle_ended += table_.end_idle(now_ns);
}

/// After every change.
void SequenceScheduler::settle(int64_t now_ns) noexcept {
  const int64_t due_ns = table_.next_due_ns();
  if (due_ns != DeadlineHeap::kNever) waiting_.recheck_at(std::max(due_ns, now_ns));
  if (!dispatcher_.takes_all() && table_.waiting() == 0) dispatcher_.nothing_due();
  SequenceFigures& figures = *settings_.figures;
  constexpr auto kRelaxed = std::memory_order_relaxed;
  figures.open.store(table_.open(), kRelaxed);
  figures.slots.store(table_.slots_in_use(), kRelaxed);
  figures.backlog.store(table_.backlog().size(), kRelaxed);
  figures.backlog_since_ns.store(table_.backlog().size() == 0 ? 0 : table_.oldest_backlog_ns(), kRelaxed);
}

void SequenceScheduler::on_cancelled(Request& request) noexcept {
  auto* sequence = static_cast<Sequence*>(request.links.sequence);
  if (sequence == nullptr || !waits(request)) return;  // an instance was quicker; it sees the flag
  const int64_t now_ns = clock_.now_ns();
  end_sequence(*sequence, now_ns, kCancelledInQueue);
  waiting_.recheck_at(now_ns);  // its slot may be another's now
  settle(now_ns);
}

// --- without it ---

Status SequenceScheduler::enqueue(Request& request) noexcept {
  Inside inside = waiting_.stay();
  if (request.batch_size > 1) {
    return invalid_argument("inference request to model '", model_name_,
                            "' must specify batch-size 1 due to requirements of sequence batcher");
  }
  if (!settings_.iterative && request.sequence.empty()) {
    return invalid_argument("inference request to model '", model_name_,
                            "' must specify a non-zero or non-empty correlation ID");
  }
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
    case Admission::kStopping:
      return unavailable_for(request, kStoppingText);
    case Admission::kDraining:
      return unavailable_for(request, kDrainingText);
    case Admission::kQueueFull:
      return unavailable_for(request, kQueueFullText);
    case Admission::kNotStarted:
      break;
  }
  return invalid_argument("inference request for sequence ", text_of(request.sequence), " to model '",
                          model_name_, "' must specify the START flag on the first request of the sequence");
}

/// Makes the slot's batch of what was taken for it.
bool SequenceScheduler::prepare(InstanceSlot& slot) noexcept {
  Instance& instance = *instances_[slot.index()];
  std::vector<Request*>& batch = instance.batch;
  for (Request*& request : batch) {
    if (request != nullptr && !complete(*request)) request = nullptr;
  }
  if (!settings_.strategy->keeps_rows()) std::erase(batch, nullptr);
  while (!batch.empty() && batch.back() == nullptr) batch.pop_back();
  if (batch.empty()) return false;
  slot.clear_batch();
  if (settings_.strategy->keeps_rows()) instance.null_state.begin_batch();
  const Request& reference = *batch.back();
  for (Request* request : batch) slot.add(request != nullptr ? *request : null_row(slot.index(), reference));
  return true;
}

/// Gives the request what the model is told beside its inputs. \returns false if it was answered instead.
bool SequenceScheduler::complete(Request& request) noexcept {
  if (!waiting_.end_wait(request)) {
    drop(request, Status(Code::kCancelled, {}), FailureReason::kCanceled);
    return false;
  }
  settings_.controls.set(request, {request.sequence_flags, true, request.sequence});
  if (states_.empty()) return true;
  ImplicitStatePtr& state = entry_of(request).sequence->state;
  if (state == nullptr) state = states_.make();
  if ((request.sequence_flags & kSequenceStart) != 0) {
    if (Status begun = state->begin(); !begun.ok()) {
      drop(request, begun, FailureReason::kOther);
      return false;
    }
  }
  state->attach(request);
  return true;
}

/// Of one that was taken: without it its sequence cannot go on.
void SequenceScheduler::drop(Request& request, const Status& failure, FailureReason reason) noexcept {
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = clock_.now_ns();
    end_sequence(*entry_of(request).sequence, now_ns, kCancelledInQueue);
    settle(now_ns);
  }
  if (reporter_ != nullptr) reporter_->report_failure(request, reason);
  fail_request(request, failure.clone());
}

Request& SequenceScheduler::null_row(uint32_t index, const Request& reference) {
  Instance& instance = *instances_[index];
  Request& row = instance.null_rows.give(reference);
  if (settings_.iterative) NullRows::allow_reschedule(row);
  settings_.controls.set(row, {0, false, {}});
  // Without memory for it the backend finds that the row has no state.
  if (!states_.empty()) (void)instance.null_state.attach_like(row, reference).ok();
  std::lock_guard lock(mutex_);
  ++instance.unreleased;
  Entry& entry = new_entry();
  entry.sequence = nullptr;
  entry.null_row = &row;
  entry.instance = index;
  entry.watch(row);
  return row;
}

bool SequenceScheduler::next_batch(InstanceSlot& slot, uint32_t) noexcept {
  std::lock_guard lock(mutex_);
  const int64_t now_ns = clock_.now_ns();
  expire_backlog(now_ns);
  const bool filled = fill(slot, now_ns);
  if (!filled) dispatcher_.put_idle(slot);
  settle(now_ns);
  return filled;
}

void SequenceScheduler::recheck() noexcept {
  InstanceSlot* due = nullptr;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = clock_.now_ns();
    waiting_.rechecked(now_ns);
    time_passes(now_ns);
    fill_all_idle(now_ns, &due);
    settle(now_ns);
  }
  dispatcher_.run(due, true);
}

void SequenceScheduler::on_released(RequestEnd& end) noexcept {
  Inside inside = waiting_.stay();
  auto& entry = static_cast<Entry&>(end);
  InstanceSlot* due = nullptr;
  std::vector<StateBlock> unused;
  {
    std::lock_guard lock(mutex_);
    Sequence* sequence = std::exchange(entry.sequence, nullptr);
    if (sequence == nullptr && entry.null_row == nullptr) return;  // it had left before
    const uint32_t instance = sequence != nullptr ? sequence->slot().instance : entry.instance;
    const int64_t now_ns = clock_.now_ns();
    if (--instances_[instance]->unreleased == 0 && settings_.strategy->keeps_rows()) {
      unused = instances_[instance]->null_state.end_batch();
    }
    if (sequence != nullptr) {
      expire_backlog(now_ns);  // none of them is to get the slot
      RequestQueue none;
      if (settings_.iterative && sequence->front() == nullptr) table_.end(*sequence, now_ns, none);
      table_.finished(*sequence, now_ns);
    }
    fill_idle(instance, now_ns, &due);
    settle(now_ns);
  }
  dispatcher_.run(due, false);
}

void SequenceScheduler::on_ended(RequestEnd& end) noexcept {
  Inside inside = waiting_.stay();
  auto& entry = static_cast<Entry&>(end);
  std::lock_guard lock(mutex_);
  if (entry.null_row != nullptr) NullRows::take_back(*std::exchange(entry.null_row, nullptr));
  unused_entries_.push_back(&entry);
  --in_flight_;
}

Status SequenceScheduler::reschedule(Request& request) noexcept {
  Inside inside = waiting_.stay();
  InstanceSlot* due = nullptr;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = clock_.now_ns();
    Sequence& sequence = *entry_of(request).sequence;
    const uint32_t instance = sequence.slot().instance;
    request.sequence_flags = 0;
    request.times.queue_start_ns = now_ns;
    --instances_[instance]->unreleased;
    table_.give_back(sequence, request, now_ns);
    ++settings_.figures->rescheduled;
    if (intake_ == Intake::kEnded) {
      end_sequence(sequence, now_ns, kEndedWithVersion);
    } else {
      fill_idle(instance, now_ns, &due);
      if (waits(request)) wait_in_line(request);
    }
    settle(now_ns);
  }
  dispatcher_.run(due, false);
  return {};
}

void SequenceScheduler::stop_accepting() noexcept {
  Inside inside = waiting_.stay();
  InstanceSlot* due = nullptr;
  {
    std::lock_guard lock(mutex_);
    intake_ = std::max(intake_, Intake::kStopped);
    settings_.hold_until = settings_.hold_until_backlog = 0;
    const int64_t now_ns = clock_.now_ns();
    time_passes(now_ns);
    fill_all_idle(now_ns, &due);
    settle(now_ns);
  }
  dispatcher_.run(due, false);
}

QueueDescription SequenceScheduler::describe_queue() noexcept {
  QueueDescription found;
  std::lock_guard lock(mutex_);
  describe_sequences(table_, settings_.limits.instances, found);
  found.is_draining = intake_ == Intake::kDraining;
  if (found.waits_for != QueueWait::kInstance) return found;
  if (dispatcher_.admissions().anybody_waits()) {
    found.waits_for = QueueWait::kAdmission;
  } else if (dispatcher_.idle_count() == instances_.size()) {
    found.waits_for = QueueWait::kBatch;
  }
  return found;
}

uint64_t SequenceScheduler::cancel_waiting(uint64_t level, uint64_t most) noexcept {
  Inside inside = waiting_.stay();
  std::lock_guard lock(mutex_);
  const uint64_t before = table_.waiting();
  const int64_t now_ns = clock_.now_ns();
  while (level == 0 && before - table_.waiting() < most) {
    Sequence* const next = first_that_waits(table_, settings_.limits.instances);
    if (next == nullptr) break;
    end_sequence(*next, now_ns, kCancelledByOperator);
  }
  settle(now_ns);
  return before - table_.waiting();
}

bool SequenceScheduler::set_draining(bool draining) noexcept {
  std::lock_guard lock(mutex_);
  if (draining && intake_ == Intake::kOpen) intake_ = Intake::kDraining;
  if (!draining && intake_ == Intake::kDraining) intake_ = Intake::kOpen;
  return true;
}

uint64_t SequenceScheduler::in_flight() const noexcept {
  std::lock_guard lock(mutex_);
  return in_flight_;
}

uint64_t SequenceScheduler::open_sequences() const noexcept {
  std::lock_guard lock(mutex_);
  return table_.open();
}

bool SequenceScheduler::has_sequence(const SequenceId& id) const noexcept {
  std::lock_guard lock(mutex_);
  return table_.is_open(owned_sequence(id));
}

void SequenceScheduler::end_sequences() noexcept {
  Inside inside = waiting_.stay();
  std::lock_guard lock(mutex_);
  intake_ = Intake::kEnded;
  const int64_t now_ns = clock_.now_ns();
  RequestQueue waiting;
  table_.end_all(now_ns, waiting);
  refuse_all(waiting, kEndedWithVersion);
  settle(now_ns);
}

}  // namespace atl::schedulers
