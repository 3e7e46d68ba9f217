/// Warm-up: the sample requests of a configuration, run on every instance before a version serves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "atoll/core/status.h"
#include "models/catalog/loading/warmup_run.h"
#include "models/catalog/serving/served_model.h"

namespace inference {
class ModelConfig;
}

namespace atl::models {

/// Bounds of what a configuration may ask for.
inline constexpr uint64_t kWarmupBytesMax = 1ull << 30;  ///< of one input
inline constexpr uint32_t kWarmupCountMax = 10'000;      ///< executions of one sample on one instance

struct WarmupOptions {
  Clock& clock;
  const Gate& gate;  ///< when it closes nothing is waited for any more
  LeftWarmups& left;
  LongWork::Task& task;    ///< told which sample runs
  int64_t timeout_ns = 0;  ///< of one execution of a sample; 0: none
};

/// Runs the samples in their order on the instances; answers are dropped. Waits for each execution until the
/// backend has released all its requests. [worker]
/// \param model  not published yet. Null afterwards if an execution was not waited for to its end: the model's instances and
///               the requests have to stay until the backend has done with them, and `options.left` keeps them
/// Errors: INVALID_ARGUMENT "failed to run warmup sample '<s>': ..."; DEADLINE_EXCEEDED the same, an execution took longer
/// than timeout_ns; UNAVAILABLE the same, the server is going down; RESOURCE_EXHAUSTED LeftWarmups::check()
Status run_warmup(const WarmupOptions& options, const inference::ModelConfig& config,
                  const std::string& model_directory, std::unique_ptr<ServedModel>& model,
                  std::span<const ScheduledInstance> instances);

}  // namespace atl::models
