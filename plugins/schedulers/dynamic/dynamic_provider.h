/// Service "atoll.scheduler/1" of kind "dynamic".
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/metrics.h"
#include "atoll/request/scheduler.h"
#include "schedulers/common/batch/batch_scheduler.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/dynamic/custom/strategy_library.h"
#include "schedulers/dynamic/latency_target.h"

namespace inference {
class ModelConfig;
}

namespace atl::schedulers {

struct DynamicSettings {
  uint64_t queue_size_max = 65'536;  ///< requests waiting for one model version; 0: any number
  std::string backend_directory;  ///< holds a folder for each backend, with its batching strategy; or empty
  uint64_t hold_until = 0;        ///< BatchSettings::hold_until of every model version
  std::string strategy_library;   ///< StrategyLibrary's path
  DispatcherLimits dispatcher;
};

class DynamicProvider final : public SchedulerProvider, public MetricSource {
 public:
  DynamicProvider(DynamicSettings settings, Log& log)
      : settings_(std::move(settings)), log_(log), strategies_(settings_.strategy_library) {}

  std::string_view kind() const noexcept override { return "dynamic"; }
  /// Errors: INVALID_ARGUMENT the configuration, its parameter `latency_target_microseconds` or its batching
  /// strategy cannot be used; NOT_FOUND a strategy's file; those of ExecutorFactory::create.
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override;

  void collect(MetricSink& sink) const noexcept override;

 private:
  Result<BatchSettings> batch_settings(const SchedulerContext& context);
  Result<std::unique_ptr<BatchStrategy>> open_strategy(const SchedulerContext& context,
                                                       const inference::ModelConfig& config);
  Status add_latency_target(const SchedulerContext& context, const inference::ModelConfig& config,
                            BatchSettings* settings);

  const DynamicSettings settings_;
  Log& log_;
  StrategyLibrary strategies_;
  AnswerThreads answer_threads_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const LatencyTargetReport>> reports_;
};

}  // namespace atl::schedulers
