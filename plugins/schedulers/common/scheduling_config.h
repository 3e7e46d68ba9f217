/// What a ModelConfig says to schedulers, in the words of their parts.
#pragma once

#include "schedulers/common/batch_compatibility.h"
#include "schedulers/common/queue_policy.h"

namespace inference {
class ModelConfig;
class ModelDynamicBatching;
}  // namespace inference

namespace atl::schedulers {

/// All but size_max, which is the operator's.
QueuePolicies queue_policies_from(const inference::ModelDynamicBatching& config);
BatchCompatibility batch_compatibility_from(const inference::ModelConfig& config);

}  // namespace atl::schedulers
