/// Which GPUs there are for models.
#pragma once

#include <cstdint>
#include <vector>

#include "atoll/core/registry.h"
#include "atoll/core/status.h"
#include "model_config.pb.h"

namespace atl::models {

/// Of the provider of GPU memory, ascending; those that are lost are not among them. [worker]
std::vector<int32_t> usable_gpus(Registry& registry) noexcept;

/// Whether the instances of a configuration want a GPU that is lost, for a text that says more than that it is not
/// there. Errors: UNAVAILABLE one is, and why. [worker]
Status check_for_lost_gpus(Registry& registry, const inference::ModelConfig& config) noexcept;

}  // namespace atl::models
