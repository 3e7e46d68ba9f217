#include "admission/deadlines/plan.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace atl::deadlines {

void DevicePlan::begin(int64_t now_ns) noexcept {
  now_ns_ = now_ns;
  late_ = 0;
  rows_.clear();
  runs_.clear();
}

void DevicePlan::add_line(Line& line, uint32_t free) {
  line.plan_index = static_cast<uint32_t>(rows_.size());
  rows_.push_back({&line, nullptr, 0, free, line.cost_ns(1)});
}

void DevicePlan::add_newcomer(const Line& line, const QueuedRequest& newcomer) noexcept {
  rows_[line.plan_index].newcomer = &newcomer;
}

const QueuedRequest* DevicePlan::at(const Row& row, size_t index) noexcept {
  const std::deque<QueuedRequest>& queue = row.line->queue;
  if (index < queue.size()) return &queue[index];
  return index == queue.size() ? row.newcomer : nullptr;
}

int64_t DevicePlan::ends_ns(double work_ns, double factor) const noexcept {
  return now_ns_ + static_cast<int64_t>(work_ns * factor);
}

/// Until when the device must be free again for the first ones of the other lines.
int64_t DevicePlan::bound_of_others(const Row& row) const noexcept {
  int64_t bound_ns = kNever;
  for (const Row& other : rows_) {
    if (&other == &row || other.free == 0) continue;
    const QueuedRequest* first = front(other);
    if (first == nullptr || !first->is_bound) continue;
    const int64_t latest_ns = first->deadline_ns - other.cost_one_ns;
    if (latest_ns >= now_ns_) bound_ns = std::min(bound_ns, latest_ns);
  }
  return bound_ns;
}

DevicePlan::Choice DevicePlan::choose(const Row& row) const noexcept {
  const double factor = rules_.crowd(runs_.size() + 1);
  const bool is_beside = runs_.size() >= rules_.parallel;
  // Others that are still free to begin need not wait for this one.
  const int64_t bound_ns = runs_.size() + 1 < rules_.parallel ? kNever : bound_of_others(row);
  Choice choice;
  for (size_t i = row.taken;; ++i) {
    const QueuedRequest* one = at(row, i);
    if (one == nullptr) break;
    if (one->is_bound && ends_ns(static_cast<double>(row.cost_one_ns), factor) > one->deadline_ns) {
      if (choice.size != 0) break;
      ++choice.taken;
      ++choice.late;
      continue;
    }
    const uint32_t size = choice.size + one->weight;
    const int64_t deadline_ns =
        one->is_bound ? std::min(choice.deadline_ns, one->deadline_ns) : choice.deadline_ns;
    const auto work_ns = static_cast<double>(row.line->cost_ns(size));
    if (choice.size != 0) {
      const int64_t ends = ends_ns(work_ns, factor);
      if (size > row.line->size_max || ends > deadline_ns || ends > bound_ns) break;
      if (is_beside && !harms_nobody(work_ns, deadline_ns)) break;
    }
    choice.size = size;
    choice.deadline_ns = deadline_ns;
    choice.work_ns = work_ns;
    ++choice.taken;
  }
  if (choice.size == 0) choice.work_ns = static_cast<double>(row.cost_one_ns);
  return choice;
}

/// Whether those that run, and one more, end in time if they share the device.
bool DevicePlan::harms_nobody(double work_ns, int64_t deadline_ns) const noexcept {
  std::array<PlannedRun, kRunsMax> all;
  size_t count = 0;
  for (const PlannedRun& run : runs_) all[count++] = run;
  all[count++] = {work_ns, deadline_ns, nullptr};
  std::sort(all.begin(), all.begin() + count,
            [](const PlannedRun& a, const PlannedRun& b) { return a.left_ns < b.left_ns; });
  double at_ns = 0, done_ns = 0;
  for (size_t i = 0; i < count; ++i) {
    at_ns += (all[i].left_ns - done_ns) * rules_.crowd(count - i);
    done_ns = all[i].left_ns;
    if (all[i].deadline_ns != kNever && ends_ns(at_ns, 1) > all[i].deadline_ns) return false;
  }
  return true;
}

int64_t DevicePlan::first_end_ns() const noexcept {
  double least_ns = INFINITY;
  for (const PlannedRun& run : runs_) least_ns = std::min(least_ns, run.left_ns);
  return ends_ns(least_ns, rules_.crowd(runs_.size()));
}

/// Whether it has to begin beside those that run, and may.
bool DevicePlan::may_join(const Row& row, int64_t first_end_ns) const noexcept {
  const QueuedRequest& first = *front(row);
  if (!first.is_bound || row.cost_one_ns == 0) return false;
  if (first_end_ns + row.cost_one_ns <= first.deadline_ns) return false;
  return harms_nobody(static_cast<double>(row.cost_one_ns), first.deadline_ns);
}

DevicePlan::Row* DevicePlan::choose_row() noexcept {
  if (runs_.size() >= rules_.executions) return nullptr;
  const bool is_free = runs_.size() < rules_.parallel;
  const int64_t end_ns = is_free ? 0 : first_end_ns();
  Row* chosen = nullptr;
  for (Row& row : rows_) {
    const QueuedRequest* first = row.free == 0 ? nullptr : front(row);
    if (first == nullptr) continue;
    if (chosen != nullptr && front(*chosen)->deadline_ns <= first->deadline_ns) continue;
    if (is_free || may_join(row, end_ns)) chosen = &row;
  }
  return chosen;
}

PlannedStart DevicePlan::next() noexcept {
  Row* row = choose_row();
  if (row == nullptr) return {};
  const Choice choice = choose(*row);
  return {row->line, std::max(1u, choice.size), choice.work_ns, choice.deadline_ns};
}

PlannedStart DevicePlan::size_for(Line& line) noexcept {
  const Choice choice = choose(rows_[line.plan_index]);
  return {&line, std::max(1u, choice.size), choice.work_ns, choice.deadline_ns};
}

/// An instance of that line, if something waits in it.
void DevicePlan::free_one(const Line& line) noexcept {
  if (line.plan_index < rows_.size() && rows_[line.plan_index].line == &line) ++rows_[line.plan_index].free;
}

void DevicePlan::advance() noexcept {
  double least_ns = INFINITY;
  for (const PlannedRun& run : runs_) least_ns = std::min(least_ns, run.left_ns);
  now_ns_ = ends_ns(least_ns, rules_.crowd(runs_.size()));
  std::erase_if(runs_, [&](PlannedRun& run) {
    run.left_ns -= least_ns;
    if (run.left_ns > 0.5) return false;
    if (run.deadline_ns != kNever && now_ns_ > run.deadline_ns + kRoundingNs) ++late_;
    if (run.of != nullptr) free_one(*run.of);
    return true;
  });
}

uint32_t DevicePlan::count_late(uint32_t most) noexcept {
  while (late_ <= most) {
    if (Row* row = choose_row(); row != nullptr) {
      const Choice choice = choose(*row);
      row->taken += choice.taken;
      late_ += choice.late;
      if (choice.size == 0) continue;
      --row->free;
      runs_.push_back({choice.work_ns, choice.deadline_ns, row->line});
    } else if (!runs_.empty()) {
      advance();
    } else {
      break;
    }
  }
  return late_;
}

}  // namespace atl::deadlines
