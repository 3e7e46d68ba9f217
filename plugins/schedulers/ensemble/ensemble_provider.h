/// Service "atoll.scheduler/1" of kind "ensemble".
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/metrics.h"
#include "atoll/request/scheduler.h"
#include "schedulers/common/instances/answer_thread.h"
#include "schedulers/ensemble/ensemble_scheduler.h"

namespace atl::ensemble {

class EnsembleProvider final : public SchedulerProvider {
 public:
  /// \param settings  of all ensembles; what it points to outlives the provider
  explicit EnsembleProvider(const EnsembleSettings& settings) noexcept : settings_(settings) {}

  std::string_view kind() const noexcept override { return "ensemble"; }
  /// Errors: INVALID_ARGUMENT the steps and the members do not fit together; those of ExecutorFactory::create.
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override;

 private:
  const EnsembleSettings settings_;
  schedulers::AnswerThreads answer_threads_;
};

}  // namespace atl::ensemble
