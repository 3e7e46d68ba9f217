/// The way of a request through a version that serves.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/fault_notes.h"
#include "atoll/core/followed_service.h"
#include "atoll/models/model.h"
#include "atoll/request/response_cache.h"
#include "atoll/request/scheduler.h"
#include "atoll/request/statistics.h"
#include "models/catalog/requests/admitted_request.h"
#include "models/catalog/requests/device_inputs.h"
#include "models/catalog/requests/provider_point.h"
#include "models/catalog/requests/validate.h"

namespace atl::models {

/// What the requests of all versions share; outlives them.
struct RequestContext {
  Clock& clock;
  AdmissionPoint& admission;
  ObserverPoint& observers;
  const Followed<ResponseCache>& cache;
  FaultNotes* fault_notes = nullptr;
  const DeviceInputs* device_inputs = nullptr;  ///< null: no memory of devices is reached
};

/// Validation, cache, admission, hand-over: infer() goes through them, and what had to wait goes on from
/// where it was. [request]
class RequestPath final : private AfterAdmission, private CacheWaiter {
 public:
  /// All that is borrowed outlives the requests. \param keeps_order  answers leave in the order of their requests
  RequestPath(const RequestContext& context, const ModelInfo& info, CorrelationControl correlation,
              bool keeps_order, PriorityLevels priorities, Scheduler& scheduler, InferenceReporter& reporter);

  /// As Model::infer().
  Status infer(Request& request) noexcept;
  const Validator& validator() const noexcept { return validator_; }

 private:
  Status infer_unobserved(Request& request) noexcept;
  Status infer_observed(Request& request) noexcept;
  Status validate(Request& request) noexcept;
  bool answer_from_cache(Request& request) noexcept;
  Status admit(Request& request, int64_t now_ns) noexcept;
  Status hand_over(Request& request, int64_t now_ns) noexcept;
  Status ask(Request& request, int64_t now_ns) noexcept;

  void resume(Request& request) noexcept override;
  void report_hit(const Request& request, uint64_t duration_ns) noexcept override;
  void report_miss(const Request& request, uint64_t duration_ns) noexcept override;
  void on_admitted(Request& request) noexcept override;
  void on_refused(Request& request, Status reason) noexcept override;

  uint64_t priority_of(const Request& request) const noexcept;
  void report_not_admitted(const Request& request, const Status& reason) noexcept;

  const RequestContext& context_;
  const ModelInfo& info_;
  const Validator validator_;
  const PriorityLevels priorities_;
  Scheduler& scheduler_;
  InferenceReporter& reporter_;
  const bool keeps_order_;
  std::atomic<uint64_t> unanswered_{0};  ///< requests, where that counts
  const bool reshapes_outputs_;
  const std::string enqueueing_;  ///< what a thread does then
};

}  // namespace atl::models
