#include "schedulers/sequence_oldest/oldest_strategy.h"

namespace atl::schedulers {

int64_t OldestStrategy::form(const SequenceTable& table, uint32_t instance, int64_t now_ns,
                             std::vector<Sequence*>& batch) noexcept {
  BatchCandidates candidates;
  auto& [all, best, oldest_ns, complete] = candidates;
  for (Sequence* next = table.ready(instance).front(); next != nullptr; next = SequenceList::after(*next)) {
    complete = all.count == rules_.size_max ||
               (all.count != 0 && !compatibility_.fit(*batch.front()->front(), *next->front()));
    if (complete) break;
    if (all.count == 0) oldest_ns = next->ready_since_ns();
    batch.push_back(next);
    all.size = ++all.count;
    if (rules_.is_preferred(all.size)) best = all;
  }
  const BatchDecision decision = rules_.decide(candidates, now_ns);
  batch.resize(decision.count);
  return decision.recheck_ns;
}

}  // namespace atl::schedulers
