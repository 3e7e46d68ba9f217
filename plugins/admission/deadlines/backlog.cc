#include "admission/deadlines/backlog.h"

#include <algorithm>

namespace atl::deadlines {

BacklogEntry::Summary BacklogEntry::Summary::of(const std::vector<BacklogEntry>& entries) noexcept {
  Summary summary;
  for (const BacklogEntry& entry : entries) {
    summary.work_ns += entry.work_ns;
    summary.start_ns = std::min(summary.start_ns, entry.due_ns - summary.work_ns);
  }
  return summary;
}

/// A batch takes all of its time, though only a share of the device.
int64_t Backlog::due_ns(const Line& line, int64_t deadline_ns, uint32_t size) const noexcept {
  if (deadline_ns == kNever) return kNever;
  return deadline_ns + kRoundingNs - (line.cost_ns(size) - share_ns(line, size));
}

BacklogEntry Backlog::entry_of(Line& line, PlannedBatch& batch) const noexcept {
  line.backlog.cost_ns -= batch.cost_ns;
  batch.cost_ns = line.cost_ns(batch.weight);
  line.backlog.cost_ns += batch.cost_ns;
  return {batch.key, share_ns(line, batch.weight), due_ns(line, batch.deadline_ns, batch.weight)};
}

bool Backlog::may_join(const Line& line, const QueuedRequest& request) noexcept {
  if (line.backlog.batches.empty()) return false;
  const PlannedBatch& last = line.backlog.batches.back();
  return uint64_t{last.weight} + request.weight <= line.size_max && last.is_bound == request.is_bound;
}

Backlog::Place Backlog::joining(const Line& line, const QueuedRequest& request) const noexcept {
  const PlannedBatch& last = line.backlog.batches.back();
  const uint32_t size = last.weight + request.weight;
  const int64_t deadline_ns =
      request.is_bound ? std::min(last.deadline_ns, request.deadline_ns) : last.deadline_ns;
  return {last.key, true, share_ns(line, size) - share_ns(line, last.weight),
          due_ns(line, deadline_ns, size)};
}

/// Within a line the order stays, whatever the deadlines.
Backlog::Place Backlog::apart(const Line& line, const QueuedRequest& request) const noexcept {
  FrontKey key{request.deadline_ns, UINT64_MAX};
  if (!line.backlog.batches.empty())
    key.deadline_ns = std::max(key.deadline_ns, line.backlog.batches.back().key.deadline_ns);
  return {key, false, share_ns(line, request.weight),
          due_ns(line, request.is_bound ? request.deadline_ns : kNever, request.weight)};
}

void Backlog::push(Line& line, const QueuedRequest& request, int64_t start_ns) {
  const int64_t deadline_ns = request.is_bound ? request.deadline_ns : kNever;
  if (may_join(line, request) && !is_harmed(joining(line, request), {start_ns, {INT64_MIN, 0}, 0, 0})) {
    PlannedBatch& last = line.backlog.batches.back();
    ++last.requests;
    last.weight += request.weight;
    last.deadline_ns = std::min(last.deadline_ns, deadline_ns);
    batches_.replace(entry_of(line, last));
    return;
  }
  FrontKey key = apart(line, request).key;
  key.order = ++pushes_;
  line.backlog.batches.push_back({key, 1, request.weight, request.is_bound, deadline_ns, 0});
  batches_.insert(entry_of(line, line.backlog.batches.back()));
  ++size_;
}

void Backlog::pop(Line& line, size_t requests) noexcept {
  while (requests != 0 && !line.backlog.batches.empty()) {
    PlannedBatch& first = line.backlog.batches.front();
    if (requests >= first.requests) {
      requests -= first.requests;
      batches_.erase(first.key);
      line.backlog.cost_ns -= first.cost_ns;
      line.backlog.batches.pop_front();
      --size_;
      continue;
    }
    first.requests -= requests;
    requests = 0;
    first.weight = 0;
    first.deadline_ns = kNever;
    for (size_t i = 0; i < first.requests; ++i) {
      const QueuedRequest& left = line.queue[i];
      first.weight += left.weight;
      if (left.is_bound) first.deadline_ns = std::min(first.deadline_ns, left.deadline_ns);
    }
    batches_.replace(entry_of(line, first));
  }
}

void Backlog::estimate(Line& line) noexcept {
  for (PlannedBatch& batch : line.backlog.batches) batches_.replace(entry_of(line, batch));
}

bool Backlog::is_harmed_by(const Line& line, const QueuedRequest& newcomer, const Rest& rest) const noexcept {
  const bool may = rest.more_ns == 0 && may_join(line, newcomer);
  // Its own line can be slower than the device.
  const int64_t own_ns = line.backlog.cost_ns + (may ? 0 : line.cost_ns(newcomer.weight));
  if (rest.line_ns + own_ns / std::max(1u, line.instances) > newcomer.deadline_ns) return true;
  if (may && !is_harmed(joining(line, newcomer), rest)) return false;
  return is_harmed(apart(line, newcomer), rest);
}

/// Goes through the batches with two times: when one would end without the newcomer, and how much later with it.
bool Backlog::is_harmed(const Place& place, const Rest& rest) const noexcept {
  int64_t at_ns = rest.start_ns - rest.more_ns, more_ns = rest.more_ns;
  bool is_placed = rest.more_ns != 0;
  for (const auto& block : batches_.blocks()) {
    const FrontKey& last = block.entries.back().key;
    if (last < rest.from) continue;
    const bool is_whole = !(block.entries.front().key < rest.from) && (is_placed || last < place.key);
    if (is_whole && at_ns + more_ns <= block.summary.start_ns) {
      at_ns += block.summary.work_ns;
      continue;
    }
    for (const BacklogEntry& entry : block.entries) {
      if (entry.key < rest.from) continue;
      if (!is_placed && !(entry.key < place.key)) {
        is_placed = true;
        more_ns = place.work_ns;
        if (at_ns + more_ns + (place.joins ? entry.work_ns : 0) > place.due_ns) return true;
      }
      if (at_ns + entry.work_ns > entry.due_ns) continue;  // late anyway
      at_ns += entry.work_ns;
      if (at_ns + more_ns > entry.due_ns) return true;
    }
  }
  return !is_placed && at_ns + place.work_ns > place.due_ns;
}

int64_t Backlog::work_from(const FrontKey& from) const noexcept {
  int64_t work_ns = 0;
  for (const auto& block : batches_.blocks()) {
    if (block.entries.back().key < from) continue;
    if (!(block.entries.front().key < from)) {
      work_ns += block.summary.work_ns;
      continue;
    }
    for (const BacklogEntry& entry : block.entries) work_ns += entry.key < from ? 0 : entry.work_ns;
  }
  return work_ns;
}

}  // namespace atl::deadlines
