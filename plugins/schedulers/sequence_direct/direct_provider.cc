#include "schedulers/sequence_direct/direct_provider.h"

#include "model_config.pb.h"
#include "schedulers/common/batch/scheduling_config.h"
#include "schedulers/sequence_direct/direct_strategy.h"

namespace atl::schedulers {

void DirectProvider::choose_strategy(const inference::ModelConfig& config, SequenceSettings* settings) const {
  const auto& direct = config.sequence_batching().direct();
  DirectRules rules;
  rules.rows = settings->limits.slots_each;
  rules.delay_ns = duration_ns_from(direct.max_queue_delay_microseconds());
  rules.minimum_utilization = static_cast<double>(direct.minimum_slot_utilization());
  settings->strategy = std::make_unique<DirectStrategy>(rules, settings->compatibility);
}

}  // namespace atl::schedulers
