/// Service "atoll.execution_admission/1": Triton's rate limiter.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "admission/rate_limiter/resource_pools.h"
#include "admission/rate_limiter/turns.h"
#include "atoll/core/clock.h"
#include "atoll/core/metrics.h"
#include "atoll/request/execution_admission.h"

namespace atl::admission {

/// One lock for all instances that need resources, held for a look at those that wait. Instances that need
/// none never take it.
class RateLimiter final : public ExecutionAdmission, public MetricSource {
 public:
  RateLimiter(ResourceLimits limits, Clock& clock) : clock_(clock), pools_(std::move(limits)) {}
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;
  virtual ~RateLimiter() = default;

  Result<std::unique_ptr<AdmittedInstance>> add_instance(const ExecutionDemand& demand) noexcept override;
  void collect(MetricSink& sink) const noexcept override;

 private:
  class Instance;

  /// Makes a change under the lock, then notifies those that it has admitted.
  template <class Change>
  void change(Change&& make) noexcept;
  void collect_pools(MetricSink& sink) const;
  void collect_models(MetricSink& sink) const;

  Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  ResourcePools pools_;
  Turns turns_;
  std::unordered_set<const Instance*> instances_;
};

}  // namespace atl::admission
