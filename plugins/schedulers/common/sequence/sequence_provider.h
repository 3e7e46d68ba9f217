/// What the providers of schedulers of sequences share: the operator's limits, the answer thread and metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/host.h"
#include "atoll/core/log.h"
#include "atoll/core/metrics.h"
#include "atoll/core/option_table.h"
#include "atoll/core/plugin.h"
#include "atoll/request/queue_metrics.h"
#include "atoll/request/scheduler.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/common/sequence/sequence_scheduler.h"

namespace inference {
class ModelConfig;
}

namespace atl::schedulers {

inline constexpr OptionTable kSequenceOptions{
    option_int("max_queue_size", 65536)
        .range(0, 1000000000)
        .help(
            "Most requests that may wait for one model version, in all its sequences together; further ones "
            "are refused as UNAVAILABLE. 0: any number."),
    option_duration("light_execution", "100us")
        .range("0us", "1s")
        .help("Instances whose recent executions were mostly shorter run on the request's thread, "
              "which saves a thread switch; 0us: never."),
    option_bytes("growable_state", "1GiB")
        .help("Address space reserved for each state with use_growable_memory, so that it grows "
              "without copying; 0: states are copied as they grow."),
};

/// Of all models of a plugin.
struct SequenceProviderSettings {
  uint64_t queue_size_max = 65'536;  ///< SequenceSettings says what these are
  uint64_t hold_until = 0;
  uint64_t hold_until_backlog = 0;
  DispatcherLimits dispatcher;
  Log* log = nullptr;                   ///< may be null
  const Clock* clock = nullptr;         ///< never null
  StateMemory* state_memory = nullptr;  ///< never null; outlives the provider
};
/// From kSequenceOptions and the environment.
SequenceProviderSettings sequence_provider_settings(Host& host, StateMemory& state_memory);

/// Services "atoll.scheduler/1" and "atoll.metric_source/1" of a strategy.
class SequenceProvider : public SchedulerProvider, public MetricSource, public QueueMetrics {
 public:
  SequenceProvider(std::string_view kind, const SequenceProviderSettings& settings) noexcept
      : kind_(kind), settings_(settings) {}
  virtual ~SequenceProvider() = default;

  std::string_view kind() const noexcept override { return kind_; }
  /// Errors: INVALID_ARGUMENT the configuration; those of ExecutorFactory::create.
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override;
  void collect(MetricSink& sink) const noexcept override;

 private:
  /// Sets the strategy, and what else it decides; the limits and the compatibility are set.
  virtual void choose_strategy(const inference::ModelConfig& config, SequenceSettings* settings) const = 0;
  std::shared_ptr<SequenceFigures> new_figures(const SchedulerContext& context);

  const std::string_view kind_;
  const SequenceProviderSettings settings_;
  AnswerThreads answer_threads_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<const SequenceFigures>> figures_;
};

/// Declares `many<Memory>()`, for implicit state.
template <class Provider>
class SequencePlugin final : public Plugin {
 public:
  explicit SequencePlugin(Host& host)
      : state_memory_(host, host.options().get_bytes("growable_state")),
        provider_(sequence_provider_settings(host, state_memory_)) {}

  Status start() override { return state_memory_.open(); }
  void stop() override { state_memory_.close(); }
  Provider& provider() noexcept { return provider_; }

 private:
  StateMemory state_memory_;
  Provider provider_;
};

}  // namespace atl::schedulers
