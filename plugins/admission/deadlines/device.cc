#include "admission/deadlines/device.h"

#include <algorithm>

namespace atl::deadlines {
namespace {

/// What an execution that has taken longer than was expected is taken to need still, of what was expected.
constexpr double kOverrun = 0.05;

double left_of(const Runner& runner) noexcept {
  return runner.done_ns < runner.work_ns ? runner.work_ns - runner.done_ns : kOverrun * runner.work_ns;
}

}  // namespace

void Device::activate(Line& line) {
  if (line.is_active) return;
  line.is_active = true;
  active_.push_back(&line);
}

void Device::deactivate(Line& line) noexcept {
  if (!line.is_active || line.asking != 0 || !line.queue.empty()) return;
  line.is_active = false;
  std::erase(active_, &line);
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
void Device::begin_plan(int64_t now_ns, const Runner* except) {
  plan_.begin(now_ns);
  unannounced_.clear();
  unannounced_.reserve(active_.size());
  size_t runs = 0;
  for (const Runner* runner : running_) {
    if (runner == except || ++runs >= kRunsMax) continue;
    plan_.add_run({left_of(*runner), runner->deadline_ns, runner->line});
  }
}

uint32_t Device::count_late(Line& line, const QueuedRequest* newcomer, int64_t now_ns, uint32_t most) {
  begin_plan(now_ns, nullptr);
  bool has_line = false;
  for (Line* one : active_) {
    if (one->queue.empty()) continue;
    has_line = has_line || one == &line;
    plan_.add_line(*one, one->instances - one->running);
  }
  if (!has_line) plan_.add_line(line, line.instances - line.running);
  if (newcomer != nullptr) plan_.add_newcomer(line, *newcomer);
  return plan_.count_late(most);
}

OfferOutcome Device::offer(Line& line, const QueuedRequest& newcomer, int64_t now_ns) {
  if (!newcomer.is_bound || !line.profile.known()) return {};
  progress(now_ns);
  ++line.taken;
  if (count_late(line, &newcomer, now_ns, 0) == 0) return {};
  const uint32_t late_anyway = count_late(line, nullptr, now_ns, UINT32_MAX);
  const int64_t busy_ns = plan_.end_ns() - now_ns;
  if (late_anyway != 0 && count_late(line, &newcomer, now_ns, late_anyway) <= late_anyway) return {};
  --line.taken;
  ++line.refused;
  return {false, busy_ns};
}

/// Where none of its instances waits, one that is idle asks next, and then it is decided with it.
void Device::arrived(Line& line, const QueuedRequest& waiting, int64_t now_ns, AdmittedList& admitted) {
  line.push(waiting);
  activate(line);
  if (line.asking != 0) settle(now_ns, admitted);
}

void Device::left(Line& line, uint64_t weight) noexcept {
  if (line.weight > weight) (void)line.pop(line.weight - weight);
  deactivate(line);
}

void Device::settle(int64_t now_ns, AdmittedList& admitted) {
  progress(now_ns);
  while (!asking_.empty() && !is_forming()) {
    begin_plan(now_ns, nullptr);
    for (Line* line : active_) {
      if (line->asking == 0) continue;
      plan_.add_line(*line, line->asking);
      if (!line->queue.empty()) continue;
      unannounced_.push_back(line->unannounced(line->asking_since_ns));
      plan_.add_newcomer(*line, unannounced_.back());
    }
    const PlannedStart start = plan_.next();
    if (start.line == nullptr) return;
    const auto runner = std::find_if(asking_.begin(), asking_.end(),
                                     [&](const Runner* one) { return one->line == start.line; });
    admit(**runner, start, admitted);
  }
}

/// What others may do depends on the size of the batch that is being made.
bool Device::is_forming() const noexcept {
  return std::any_of(running_.begin(), running_.end(), [](const Runner* one) { return one->is_forming; });
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
  if (line.asking++ == 0) line.asking_since_ns = now_ns;
  asking_.push_back(&runner);
  activate(line);
}

void Device::end_waiting(Runner& runner) noexcept {
  Line& line = *runner.line;
  runner.state = Runner::State::kIdle;
  std::erase(asking_, &runner);
  --line.asking;
  const auto first =
      std::find_if(asking_.begin(), asking_.end(), [&](const Runner* one) { return one->line == &line; });
  if (first != asking_.end()) line.asking_since_ns = (*first)->asked_ns;
  deactivate(line);
}

void Device::give_back(Runner& runner, bool executed, int64_t now_ns) noexcept {
  progress(now_ns);
  // What an execution takes that shares the device is a guess.
  const bool is_news = runner.was_alone || !runner.line->profile.known();
  if (executed && runner.size != 0 && is_news) {
    runner.line->profile.add(runner.size, static_cast<int64_t>(runner.done_ns));
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
  begin_plan(now_ns, &runner);
  for (Line* one : active_) plan_.add_line(*one, one == &line ? 1 : one->asking);
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
  runner.deadline_ns = line.pop(size);
  left(line, weight);
  settle(now_ns, admitted);
}

}  // namespace atl::deadlines
