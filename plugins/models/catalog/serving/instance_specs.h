/// The instances that a configuration's instance groups stand for.
#pragma once

#include <memory>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/core/status.h"
#include "atoll/request/execution_admission.h"
#include "models/catalog/serving/host_policies.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// Most instances of one version.
inline constexpr size_t kInstancesMax = 4096;

/// Of a configuration whose groups are filled in (ModelConfigs::finish_instance_groups). Names are
/// "<group>_<n>", n counting over all devices of the group.
/// Errors: INVALID_ARGUMENT more than kInstancesMax, or not one that is executed.
Result<std::vector<std::unique_ptr<InstanceSpec>>> make_instance_specs(const inference::ModelConfig& config,
                                                                       const HostPolicies& policies,
                                                                       InferenceReporter* reporter);

/// What the executions of these instances need, passive ones left out, in the same order; the version is the
/// caller's to set.
std::vector<ExecutionDemand> make_execution_demands(const inference::ModelConfig& config);

}  // namespace atl::models
