/// Warm-up: the sample requests of a configuration, run on every instance before a version serves.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "atoll/status.h"
#include "models/catalog/serving/served_model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// Bounds of what a configuration may ask for.
inline constexpr uint64_t kWarmupBytesMax = 1ull << 30;  ///< of one input
inline constexpr uint32_t kWarmupCountMax = 10'000;      ///< executions of one sample on one instance

/// Runs the samples in their order on the instances; answers are dropped. Waits until the
/// backend has released all requests. [worker] The model is not published yet.
/// Errors: INVALID_ARGUMENT "failed to run warmup sample '<s>': ..."
Status run_warmup(const inference::ModelConfig& config, const std::string& model_directory,
                  ServedModel& model, std::span<const ScheduledInstance> instances);

}  // namespace atl::models
