#include "schedulers/sequence_direct/direct_strategy.h"

#include <algorithm>

namespace atl::schedulers {

int64_t DirectStrategy::form(const SequenceTable& table, uint32_t instance, int64_t now_ns,
                             std::vector<Sequence*>& batch) noexcept {
  const SequenceList& ready = table.ready(instance);
  if (ready.size() == 0) return DeadlineHeap::kNever;
  if (int64_t at_ns = wait_until_ns(ready, now_ns); at_ns != 0) return at_ns;
  // Not the lowest row: one that always has a request would keep those of other shapes waiting for ever.
  const Request& reference = *ready.front()->front();
  for (Sequence* next = ready.front(); next != nullptr; next = SequenceList::after(*next)) {
    if (!compatibility_.fit(reference, *next->front())) continue;
    const size_t row = next->slot().row;
    if (row >= batch.size()) batch.resize(row + 1, nullptr);
    batch[row] = next;
  }
  return DeadlineHeap::kNever;
}

/// \returns 0: what is ready may go
int64_t DirectStrategy::wait_until_ns(const SequenceList& ready, int64_t now_ns) const noexcept {
  if (rules_.delay_ns == 0 || rules_.minimum_utilization == 0) return 0;
  if (static_cast<double>(ready.size()) >= rules_.minimum_utilization * rules_.rows) return 0;
  int64_t oldest_ns = DeadlineHeap::kNever;
  for (const Sequence* one = ready.front(); one != nullptr; one = SequenceList::after(*one))
    oldest_ns = std::min(oldest_ns, one->front()->times.queue_start_ns);
  if (now_ns - oldest_ns > rules_.delay_ns) return 0;
  const int64_t most_ns = DeadlineHeap::kNever - 1 - rules_.delay_ns;
  return oldest_ns > most_ns ? DeadlineHeap::kNever : oldest_ns + rules_.delay_ns + 1;
}

}  // namespace atl::schedulers
