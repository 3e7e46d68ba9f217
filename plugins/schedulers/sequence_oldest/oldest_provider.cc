#include "schedulers/sequence_oldest/oldest_provider.h"

#include <utility>

#include "model_config.pb.h"
#include "schedulers/common/batch/scheduling_config.h"
#include "schedulers/sequence_oldest/oldest_strategy.h"

namespace atl::schedulers {

void OldestProvider::choose_strategy(const inference::ModelConfig& config, SequenceSettings* settings) const {
  const auto& oldest = config.sequence_batching().oldest();
  BatchRules rules;
  rules.size_max = settings->limits.slots_each;
  rules.preferred_sizes = preferred_sizes_from(oldest.preferred_batch_size(), rules.size_max);
  rules.delay_ns = duration_ns_from(oldest.max_queue_delay_microseconds());
  if (oldest.max_candidate_sequences() > 0)
    settings->limits.slots_each = static_cast<uint32_t>(oldest.max_candidate_sequences());
  settings->preserve_ordering = oldest.preserve_ordering();
  settings->strategy = std::make_unique<OldestStrategy>(std::move(rules), settings->compatibility);
}

}  // namespace atl::schedulers
