#include "admission/deadlines/plan.h"

#include <algorithm>

namespace atl::deadlines {

void DevicePlan::begin(int64_t now_ns, PlanScope scope) noexcept {
  scope_ = scope;
  now_ns_ = now_ns;
  late_ = 0;
  steps_ = 0;
  cut_ = nullptr;
  newcomers_ = nullptr;
  ++round_;
  at_block_ = at_entry_ = 0;
  rows_.clear();
  live_.clear();
  runs_.clear();
}

uint32_t DevicePlan::free_of(const Line& line) const noexcept {
  return scope_ == PlanScope::kAsking ? static_cast<uint32_t>(line.asking.size())
                                      : line.instances - line.running;
}

/// Whether something of a line that has no row could begin. One whose instances all execute gets a row when the
/// first of them has ended.
bool DevicePlan::is_ready(const Line& line) const noexcept {
  return is_untouched(line) && free_of(line) != 0 && (scope_ == PlanScope::kAsking || !line.queue.empty());
}

DevicePlan::Row& DevicePlan::touch(Line& line) {
  if (!is_untouched(line)) return rows_[line.place.plan_row];
  line.place.plan_round = round_;
  line.place.plan_row = static_cast<uint32_t>(rows_.size());
  live_.push_back(line.place.plan_row);
  const bool is_unannounced = scope_ == PlanScope::kAsking && line.queue.empty();
  const bool is_new = scope_ == PlanScope::kWaiting && line.queue.empty();
  rows_.push_back({&line,
                   is_new ? UINT64_MAX : line.place.key.order,
                   line.queue.size(),
                   0,
                   free_of(line),
                   line.cost_ns(1),
                   is_unannounced,
                   {}});
  if (is_unannounced) rows_.back().newcomer = line.unannounced(line.asking_since_ns);
  return rows_.back();
}

void DevicePlan::add_newcomer(Line& line, const QueuedRequest& newcomer) {
  Row& row = touch(line);
  newcomers_ = &line;
  row.has_newcomer = true;
  row.newcomer = newcomer;
}

const QueuedRequest* DevicePlan::at(const Row& row, size_t index) noexcept {
  if (index < row.waiting) return &row.line->queue[index];
  return index == row.waiting && row.has_newcomer ? &row.newcomer : nullptr;
}

/// Until when the device must be free again for the first ones of the other lines.
int64_t DevicePlan::bound_of_others(const Row& row) const noexcept {
  int64_t bound_ns = kNever;
  for (const uint32_t number : live_) {
    const Row& other = rows_[number];
    if (&other == &row || other.free == 0) continue;
    const QueuedRequest* first = front(other);
    if (first == nullptr || !first->is_bound) continue;
    const int64_t latest_ns = first->deadline_ns - other.cost_one_ns;
    if (latest_ns >= now_ns_) bound_ns = std::min(bound_ns, latest_ns);
  }
  const std::vector<FrontIndex::Block>& blocks = fronts_.blocks();
  for (size_t i = at_block_; i < blocks.size(); ++i) {
    if (blocks[i].summary.latest_ns >= bound_ns) continue;
    const std::vector<FrontEntry>& entries = blocks[i].entries;
    for (size_t at = i == at_block_ ? at_entry_ : 0; at < entries.size(); ++at) {
      const FrontEntry& entry = entries[at];
      if (entry.latest_ns >= bound_ns || entry.latest_ns < now_ns_ || !is_ready(*entry.line)) continue;
      bound_ns = entry.latest_ns;
    }
  }
  return bound_ns;
}

DevicePlan::Choice DevicePlan::choose(const Row& row) const noexcept {
  const double factor = rules_.crowd(runs_.size() + 1);
  const auto ends_ns = [&](double work_ns) { return now_ns_ + static_cast<int64_t>(work_ns * factor); };
  const bool is_beside = runs_.size() >= rules_.parallel;
  // Others that are still free to begin need not wait for this one.
  const bool is_last = runs_.size() + 1 >= rules_.parallel;
  int64_t bound_ns = -1;  // found only where there may be more than one request
  Choice choice;
  for (size_t i = row.taken;; ++i) {
    const QueuedRequest* one = at(row, i);
    if (one == nullptr) break;
    if (one->is_bound && ends_ns(static_cast<double>(row.cost_one_ns)) > one->deadline_ns) {
      if (choice.size != 0 || choice.late == kPlannedRequests) break;
      ++choice.taken;
      ++choice.late;
      continue;
    }
    const uint32_t size = choice.size + one->weight;
    const int64_t deadline_ns =
        one->is_bound ? std::min(choice.deadline_ns, one->deadline_ns) : choice.deadline_ns;
    const auto work_ns = static_cast<double>(size == 1 ? row.cost_one_ns : row.line->cost_ns(size));
    if (choice.size != 0) {
      const int64_t ends = ends_ns(work_ns);
      if (size > row.line->size_max || ends > deadline_ns) break;
      if (bound_ns < 0) bound_ns = is_last ? bound_of_others(row) : kNever;
      if (ends > bound_ns) break;
      if (is_beside && !runs_.has_room_for({work_ns, deadline_ns, nullptr}, now_ns_)) break;
    }
    choice.size = size;
    choice.deadline_ns = deadline_ns;
    choice.work_ns = work_ns;
    ++choice.taken;
  }
  if (choice.size == 0) choice.work_ns = static_cast<double>(row.cost_one_ns);
  return choice;
}

/// Whether it has to begin beside those that run, and may.
bool DevicePlan::may_join(const QueuedRequest& first, int64_t cost_one_ns,
                          int64_t first_end_ns) const noexcept {
  if (!first.is_bound || cost_one_ns == 0) return false;
  if (first_end_ns + cost_one_ns <= first.deadline_ns) return false;
  return runs_.has_room_for({static_cast<double>(cost_one_ns), first.deadline_ns, nullptr}, now_ns_);
}

/// Of the lines that have rows. \param is_free  whoever comes may begin
DevicePlan::Row* DevicePlan::first_touched(bool is_free, int64_t first_end_ns) noexcept {
  Row* chosen = nullptr;
  for (size_t i = 0; i < live_.size();) {
    Row& row = rows_[live_[i]];
    const QueuedRequest* first = front(row);
    if (first == nullptr) {
      live_[i] = live_.back();
      live_.pop_back();
      continue;
    }
    ++i;
    if (row.free == 0 || (chosen != nullptr && key_of(*chosen) < key_of(row))) continue;
    if (is_free || may_join(*first, row.cost_one_ns, first_end_ns)) chosen = &row;
  }
  return chosen;
}

/// Of the lines that have none, if it comes before that one.
Line* DevicePlan::first_free(const FrontKey& before) noexcept {
  const std::vector<FrontIndex::Block>& blocks = fronts_.blocks();
  for (; at_block_ < blocks.size(); ++at_block_, at_entry_ = 0) {
    const std::vector<FrontEntry>& entries = blocks[at_block_].entries;
    for (; at_entry_ < entries.size(); ++at_entry_) {
      const FrontEntry& entry = entries[at_entry_];
      if (before < entry.key) return nullptr;
      if (is_ready(*entry.line)) return entry.line;
    }
  }
  return nullptr;
}

Line* DevicePlan::first_joining(const FrontKey& before, int64_t first_end_ns) noexcept {
  const std::vector<FrontIndex::Block>& blocks = fronts_.blocks();
  for (size_t i = at_block_; i < blocks.size(); ++i) {
    if (before < blocks[i].entries.front().key) break;
    if (blocks[i].summary.latest_ns >= first_end_ns) continue;
    for (const FrontEntry& entry : blocks[i].entries) {
      if (before < entry.key) return nullptr;
      ++steps_;
      // One that would be late even by itself need not be looked at.
      if (entry.latest_ns < now_ns_) continue;
      if (entry.latest_ns >= first_end_ns || !is_ready(*entry.line) || entry.line->queue.empty()) continue;
      if (may_join(entry.line->queue.front(), entry.line->cost_ns(1), first_end_ns)) return entry.line;
    }
  }
  return nullptr;
}

DevicePlan::Row* DevicePlan::choose_row() noexcept {
  if (runs_.size() >= rules_.executions) return nullptr;
  const bool is_free = runs_.size() < rules_.parallel;
  const int64_t end_ns = is_free ? 0 : now_ns_ + static_cast<int64_t>(runs_.first_end_ns());
  Row* chosen = first_touched(is_free, end_ns);
  const FrontKey before = chosen == nullptr ? FrontKey{} : key_of(*chosen);
  Line* line = is_free ? first_free(before) : first_joining(before, end_ns);
  return line == nullptr ? chosen : &touch(*line);
}

PlannedStart DevicePlan::next() noexcept {
  Row* row = choose_row();
  if (row == nullptr) return {};
  const Choice choice = choose(*row);
  return {row->line, std::max(1u, choice.size), choice.work_ns, choice.deadline_ns};
}

PlannedStart DevicePlan::size_for(Line& line) noexcept {
  Row& row = touch(line);
  row.free = 1;
  const Choice choice = choose(row);
  return {&line, std::max(1u, choice.size), choice.work_ns, choice.deadline_ns};
}

void DevicePlan::free_one(Line& line) noexcept {
  if (!is_untouched(line) || !line.queue.empty()) ++touch(line).free;
}

void DevicePlan::advance() noexcept {
  now_ns_ += static_cast<int64_t>(runs_.first_end_ns());
  runs_.end_first([this](const PlannedRun& run) {
    if (run.deadline_ns != kNever && now_ns_ > run.deadline_ns + kRoundingNs) ++late_;
    if (run.of != nullptr) free_one(*run.of);
  });
}

uint32_t DevicePlan::count_late(uint32_t most) noexcept {
  uint32_t batches = 0;
  size_t requests = 0;
  while (late_ <= most) {
    if (Row* row = choose_row(); row != nullptr) {
      if (batches == kPlannedBatches || requests >= kPlannedRequests || steps_ >= kPlannedSteps) {
        cut_ = row;
        break;
      }
      const Choice choice = choose(*row);
      row->taken += choice.taken;
      requests += choice.taken;
      late_ += choice.late;
      ++batches;
      if (choice.size == 0) continue;
      --row->free;
      runs_.add({choice.work_ns, choice.deadline_ns, row->line});
    } else if (!runs_.empty()) {
      advance();
    } else {
      break;
    }
  }
  return late_;
}

PlanEnd DevicePlan::end() const noexcept {
  PlanEnd end;
  end.at_ns = now_ns_ + static_cast<int64_t>(runs_.all_end_ns());
  if (newcomers_ != nullptr) {
    const Row& row = rows_[newcomers_->place.plan_row];
    end.has_newcomer = row.taken > row.waiting;
  }
  if (cut_ == nullptr) return end;
  end.is_cut = true;
  end.from = {front(*cut_)->deadline_ns, cut_->taken >= cut_->waiting ? UINT64_MAX : 0};
  size_t before = cut_->taken;
  for (const PlannedBatch& batch : cut_->line->backlog.batches) {
    // Those with the same deadline that came earlier are in the plan.
    if (before == 0 && batch.key.deadline_ns == end.from.deadline_ns) end.from.order = batch.key.order;
    if (before < batch.requests) break;
    before -= batch.requests;
  }
  for (const uint32_t number : live_) {
    const Row& row = rows_[number];
    size_t taken = row.taken;
    for (const PlannedBatch& batch : row.line->backlog.batches) {
      if (taken >= batch.requests) {
        taken -= batch.requests;
        continue;
      }
      if (taken == 0 || !(batch.key < end.from)) break;
      const uint64_t weight = batch.weight * (batch.requests - taken) / batch.requests;
      end.put_off_ns += row.line->cost_ns(std::max(1U, static_cast<uint32_t>(weight)));
      break;
    }
  }
  end.put_off_ns /= rules_.parallel;
  return end;
}

}  // namespace atl::deadlines
