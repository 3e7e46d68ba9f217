/// What waits of a model's sequences, as those who operate the server see it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "atoll/request/scheduler.h"
#include "schedulers/common/sequence/sequence_table.h"

namespace atl::schedulers {

/// Of one list of sequences, whose first one has waited longest.
inline void describe_sequences(const SequenceList& list, QueueDescription& to) noexcept {
  if (const Sequence* first = list.front(); first != nullptr && first->front() != nullptr) {
    const int64_t oldest_ns = first->front()->times.queue_start_ns;
    to.oldest_ns = to.oldest_ns == 0 ? oldest_ns : std::min(to.oldest_ns, oldest_ns);
  }
  for (const Sequence* one = list.front(); one != nullptr; one = SequenceList::after(*one)) {
    for (const Request* request = one->front(); request != nullptr; request = request->next) {
      if (to.sampled_requests == QueueDescription::kSampleMax) return;
      for (const InputTensor& input : request->inputs) to.sampled_bytes += input.size_bytes;
      ++to.sampled_requests;
    }
  }
}

/// Writes what waits into an empty description, with what it waits for, as far as the table says.
inline void describe_sequences(const SequenceTable& table, uint32_t instances,
                               QueueDescription& to) noexcept {
  to.requests = table.waiting();
  if (to.requests == 0) return;
  uint64_t ready = 0;
  for (uint32_t i = 0; i < instances; ++i) {
    describe_sequences(table.ready(i), to);
    ready += table.ready(i).size();
  }
  describe_sequences(table.backlog(), to);
  to.levels[0] = {0, to.requests, to.oldest_ns};
  to.level_count = 1;
  to.waits_for = ready == 0 && table.backlog().size() != 0 ? QueueWait::kSlot : QueueWait::kInstance;
}

/// Whose requests are cancelled first: those in the backlog, so that no slot is given to one of them. Null: none waits but
/// behind a request of its own sequence that executes.
inline Sequence* first_that_waits(const SequenceTable& table, uint32_t instances) noexcept {
  if (Sequence* first = table.backlog().front()) return first;
  for (uint32_t i = 0; i < instances; ++i) {
    if (Sequence* first = table.ready(i).front()) return first;
  }
  return nullptr;
}

}  // namespace atl::schedulers
