#include "admission/deadlines/device.h"

#include <algorithm>

namespace atl::deadlines {
namespace {

/// What an execution that has taken longer than was expected is taken to need still, of what was expected.
constexpr double kOverrun = 0.05;

double left_of(const Runner& runner) noexcept {
  return runner.done_ns < runner.work_ns ? runner.work_ns - runner.done_ns : kOverrun * runner.work_ns;
}

/// What others may do depends on the size of the batch that is being made.
bool is_forming(const std::vector<Runner*>& running) noexcept {
  return std::any_of(running.begin(), running.end(), [](const Runner* one) { return one->is_forming; });
}

}  // namespace

/// Where the line is in the index, after what waits in it, or what its executions take, has changed.
void Device::place(Line& line) {
  LinePlace& place = line.place;
  const bool waits = !line.asking.empty() || !line.queue.empty();
  if (!waits) {
    if (place.is_active) fronts_.erase(place.key);
    place.is_active = false;
    return;
  }
  const QueuedRequest front =
      line.queue.empty() ? line.unannounced(line.asking_since_ns) : line.queue.front();
  const int64_t latest_ns = front.is_bound ? front.deadline_ns - line.cost_ns(1) : kNever;
  if (place.is_active) {
    if (place.key.deadline_ns == front.deadline_ns && place.latest_ns == latest_ns) return;
    fronts_.erase(place.key);
  } else {
    place.is_active = true;
    place.key.order = ++activations_;
  }
  place.key.deadline_ns = front.deadline_ns;
  place.latest_ns = latest_ns;
  fronts_.insert({place.key, latest_ns, &line});
}

/// Executions share the device.
void Device::progress(int64_t now_ns) noexcept {
  const double each_ns = static_cast<double>(now_ns - last_ns_) / rules_.crowd(running_.size());
  for (Runner* runner : running_) {
    runner->done_ns += each_ns;
    runner->was_alone = runner->was_alone && running_.size() <= rules_.parallel;
  }
  last_ns_ = now_ns;
}

/// \param except  does not run
void Device::begin_plan(int64_t now_ns, PlanScope scope, const Runner* except) {
  plan_.begin(now_ns, scope);
  size_t runs = 0;
  for (const Runner* runner : running_) {
    if (runner == except || ++runs >= kRunsMax) continue;
    plan_.add_run({left_of(*runner), runner->deadline_ns, runner->line});
  }
}

uint32_t Device::count_late(Line& line, const QueuedRequest* newcomer, int64_t now_ns, uint32_t most) {
  begin_plan(now_ns, PlanScope::kWaiting, nullptr);
  if (newcomer != nullptr) plan_.add_newcomer(line, *newcomer);
  return plan_.count_late(most);
}

/// Whether those are late then that the plan has not come to.
bool Device::harms_the_rest(const Line& line, const QueuedRequest& newcomer, int64_t now_ns) const noexcept {
  const PlanEnd end = plan_.end();
  if (!end.is_cut) return false;
  Backlog::Rest rest{end.at_ns + end.put_off_ns, end.from, 0, now_ns};
  if (end.has_newcomer) rest.more_ns = std::max<int64_t>(1, backlog_.share_ns(line, newcomer.weight));
  for (const Runner* runner : running_) {
    if (runner->line == &line) rest.line_ns += static_cast<int64_t>(left_of(*runner)) / line.instances;
  }
  return backlog_.is_harmed_by(line, newcomer, rest);
}

/// When the device has done all that it has.
int64_t Device::end_ns() const noexcept {
  const PlanEnd end = plan_.end();
  return end.at_ns + (end.is_cut ? end.put_off_ns + backlog_.work_from(end.from) : 0);
}

OfferOutcome Device::offer(Line& line, const QueuedRequest& newcomer, int64_t now_ns) {
  if (!newcomer.is_bound || !line.profile.known()) return {};
  progress(now_ns);
  ++line.taken;
  uint32_t late = count_late(line, &newcomer, now_ns, 0);
  if (late == 0 && !harms_the_rest(line, newcomer, now_ns)) return {};
  int64_t busy_ns = end_ns() - now_ns;
  if (late != 0) {
    const uint32_t late_anyway = count_late(line, nullptr, now_ns, UINT32_MAX);
    busy_ns = end_ns() - now_ns;
    if (late_anyway != 0) late = count_late(line, &newcomer, now_ns, late_anyway);
    if (late <= late_anyway && !harms_the_rest(line, newcomer, now_ns)) return {};
  }
  --line.taken;
  ++line.refused;
  return {false, busy_ns};
}

/// Where none of its instances waits, one that is idle asks next, and then it is decided with it.
void Device::arrived(Line& line, const QueuedRequest& waiting, int64_t now_ns, AdmittedList& admitted) {
  progress(now_ns);
  double left_ns = 0;
  for (const Runner* runner : running_) left_ns += left_of(*runner);
  backlog_.push(line, waiting, now_ns + static_cast<int64_t>(left_ns / rules_.parallel));
  line.push(waiting);
  place(line);
  if (!line.asking.empty()) settle(now_ns, admitted);
}

/// \returns as Line::pop()
int64_t Device::pop(Line& line, uint64_t weight) noexcept {
  const size_t waited = line.queue.size();
  const int64_t deadline_ns = line.pop(weight);
  backlog_.pop(line, waited - line.queue.size());
  return deadline_ns;
}

void Device::left(Line& line, uint64_t weight) noexcept {
  if (line.weight > weight) (void)pop(line, line.weight - weight);
  place(line);
}

void Device::settle(int64_t now_ns, AdmittedList& admitted) {
  progress(now_ns);
  while (asking_ != 0 && !is_forming(running_)) {
    begin_plan(now_ns, PlanScope::kAsking, nullptr);
    const PlannedStart start = plan_.next();
    if (start.line == nullptr) return;
    admit(*start.line->asking.front(), start, admitted);
  }
}

void Device::admit(Runner& runner, const PlannedStart& start, AdmittedList& admitted) {
  if (runner.state == Runner::State::kWaiting) end_waiting(runner);
  runner.state = Runner::State::kAdmitted;
  runner.is_forming = !runner.line->queue.empty();
  runner.size = 0;
  runner.work_ns = start.work_ns;
  runner.done_ns = 0;
  runner.deadline_ns = start.deadline_ns;
  ++runner.line->running;
  running_.push_back(&runner);
  admitted.push_back(runner);
}

void Device::begin_waiting(Runner& runner, int64_t now_ns) {
  Line& line = *runner.line;
  runner.state = Runner::State::kWaiting;
  runner.asked_ns = now_ns;
  if (line.asking.empty()) line.asking_since_ns = now_ns;
  line.asking.push_back(&runner);
  ++asking_;
  place(line);
}

void Device::end_waiting(Runner& runner) noexcept {
  Line& line = *runner.line;
  runner.state = Runner::State::kIdle;
  std::erase(line.asking, &runner);
  --asking_;
  if (!line.asking.empty()) line.asking_since_ns = line.asking.front()->asked_ns;
  place(line);
}

void Device::give_back(Runner& runner, bool executed, int64_t now_ns) noexcept {
  progress(now_ns);
  // What an execution takes that shares the device is a guess.
  const bool is_news = runner.was_alone || !runner.line->profile.known();
  if (executed && runner.size != 0 && is_news) {
    const bool was_known = runner.line->profile.known();
    runner.line->profile.add(runner.size, static_cast<int64_t>(runner.done_ns));
    if (!was_known) backlog_.estimate(*runner.line);
    place(*runner.line);
  }
  runner.line->executed += executed;
  runner.is_forming = false;
  runner.state = Runner::State::kIdle;
  --runner.line->running;
  std::erase(running_, &runner);
}

void Device::ask(Runner& runner, bool insists, int64_t now_ns, AdmittedList& admitted) {
  progress(now_ns);
  if (insists) return admit(runner, {}, admitted);
  begin_waiting(runner, now_ns);
  settle(now_ns, admitted);
}

void Device::ask_again(Runner& runner, bool insists, int64_t now_ns, AdmittedList& admitted) {
  give_back(runner, true, now_ns);
  ask(runner, insists, now_ns, admitted);
}

void Device::end(Runner& runner, bool executed, int64_t now_ns, AdmittedList& admitted) {
  give_back(runner, executed, now_ns);
  settle(now_ns, admitted);
}

void Device::withdraw(Runner& runner) noexcept {
  if (runner.state == Runner::State::kWaiting) end_waiting(runner);
}

void Device::insist(Runner& runner, int64_t now_ns, AdmittedList& admitted) {
  if (runner.state != Runner::State::kWaiting) return;
  progress(now_ns);
  admit(runner, {}, admitted);
}

void Device::remove(Runner& runner, int64_t now_ns, AdmittedList& admitted) noexcept {
  withdraw(runner);
  const bool executes = runner.state == Runner::State::kAdmitted;
  if (executes) give_back(runner, false, now_ns);
  if (--runner.line->instances == 0) left(*runner.line, 0);
  settle(now_ns, admitted);
}

ExecutionGrant Device::grant(Runner& runner, int64_t now_ns) {
  Line& line = *runner.line;
  if (!line.profile.known() || line.queue.empty()) return {};
  progress(now_ns);
  begin_plan(now_ns, PlanScope::kAsking, &runner);
  const PlannedStart start = plan_.size_for(line);
  const auto ends_ns = static_cast<int64_t>(start.work_ns * rules_.crowd(running_.size()));
  return {start.size, now_ns + std::max<int64_t>(ends_ns - kRoundingNs, 0)};
}

void Device::begins(Runner& runner, uint32_t size, uint64_t weight, int64_t now_ns, AdmittedList& admitted) {
  progress(now_ns);
  Line& line = *runner.line;
  runner.is_forming = false;
  runner.was_alone = true;
  runner.size = size;
  runner.work_ns = static_cast<double>(line.cost_ns(size));
  runner.done_ns = 0;
  runner.deadline_ns = pop(line, size);
  left(line, weight);
  settle(now_ns, admitted);
}

}  // namespace atl::deadlines
