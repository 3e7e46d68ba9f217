#include "models/catalog/requests/request_path.h"

#include <algorithm>
#include <utility>

#include "models/catalog/requests/observed_request.h"
#include "models/catalog/requests/raw_input.h"
#include "models/catalog/requests/reshape.h"
#include "models/catalog/requests/trace_inputs.h"
#include "models/catalog/requests/unanswered_request.h"

namespace atl::models {

RequestPath::RequestPath(const RequestContext& context, const ModelInfo& info, CorrelationControl correlation,
                         bool keeps_order, PriorityLevels priorities, Scheduler& scheduler,
                         InferenceReporter& reporter)
    : context_(context),
      info_(info),
      validator_(info, std::move(correlation),
                 context.device_inputs == nullptr ? nullptr : &context.device_inputs->devices()),
      priorities_(priorities),
      scheduler_(scheduler),
      reporter_(reporter),
      keeps_order_(keeps_order),
      reshapes_outputs_(std::any_of(info.outputs.begin(), info.outputs.end(),
                                    [](const TensorSpec& spec) { return spec.has_reshape; })),
      enqueueing_(cat("enqueueing a request for model '", info.name, "' version ", info.version)) {}

// What every request goes through is inline.
Status RequestPath::infer(Request& request) noexcept {
  if (context_.observers.has_any()) [[unlikely]]
    return infer_observed(request);
  return infer_unobserved(request);
}

inline Status RequestPath::infer_unobserved(Request& request) noexcept {
  ATOLL_RETURN_IF_ERROR(validate(request));
  if (info_.response_cache && answer_from_cache(request)) return {};
  return admit(request, request.times.start_ns);
}

/// Who observes sees the request as it came, so before it is validated; but an input without a name says nothing to anybody.
Status RequestPath::infer_observed(Request& request) noexcept {
  if ((request.call_flags & (kIsStep | kShadow)) != 0) return infer_unobserved(request);
  const ObserverPoint::Hold hold = context_.observers.hold();
  if (hold.gate == nullptr) return infer_unobserved(request);
  // What is wrong with it is found again by validation.
  (void)complete_raw_input(request, info_).ok();
  ObservedRequest* const observed = ObservedRequest::begin(request, hold);
  Status status = infer_unobserved(request);
  if (!status.ok() && observed != nullptr) observed->refuse(request, status);
  return status;
}

inline Status RequestPath::validate(Request& request) noexcept {
  const int64_t start_ns = context_.clock.now_ns();
  request.times.start_ns = start_ns;
  ATOLL_RETURN_IF_ERROR(validator_.validate(request));
  if (request.trace != nullptr) request.trace->report(TraceActivity::kRequestStart, start_ns);
  return {};
}

/// Before admission: what costs nothing has to wait for nobody. \returns whether the request is the cache's,
/// for good or until resume().
bool RequestPath::answer_from_cache(Request& request) noexcept {
  if ((request.call_flags & kShadow) != 0 || !request.sequence.empty()) return false;
  auto cache = context_.cache.hold();
  if (!cache) return false;
  const ResponseSink* const sink = request.sink;
  // A hit would overtake those that are computed.
  const bool may_hit = !keeps_order_ || UnansweredRequest::watch(request, unanswered_);
  if (may_hit && cache->look_up(request, *this) != CacheOutcome::kMiss) return true;
  if (request.sink == sink) return false;
  // Who stands before the sink now has to see the answer, be it a refusal.
  resume(request);
  return true;
}

void RequestPath::resume(Request& request) noexcept {
  if (Status status = admit(request, 0); !status.ok()) fail_request(request, std::move(status));
}

void RequestPath::report_hit(const Request& request, uint64_t duration_ns) noexcept {
  reporter_.report_cache_hit(request, duration_ns);
}

void RequestPath::report_miss(const Request& request, uint64_t duration_ns) noexcept {
  reporter_.report_cache_miss(request, duration_ns);
}

/// Hands over, too, if the request may go on at once. The steps of a request that was admitted are.
inline Status RequestPath::admit(Request& request, int64_t now_ns) noexcept {
  const bool asks = context_.admission.has_any() && (request.call_flags & kIsStep) == 0;
  return asks ? ask(request, now_ns) : hand_over(request, now_ns);
}

Status RequestPath::ask(Request& request, int64_t now_ns) noexcept {
  const AdmissionPoint::Hold hold = context_.admission.hold();
  if (hold.gate == nullptr) return hand_over(request, now_ns);
  AdmittedRequest& admitted = AdmittedRequest::make(request, hold, priority_of(request), *this);
  Result<bool> all = admitted.ask(request);
  if (!all.ok()) {
    report_not_admitted(request, all.status());
    admitted.end();
    return std::move(all).status();
  }
  if (!all.value()) return {};
  Status status = hand_over(request, now_ns);
  if (!status.ok()) {
    admitted.withdraw(request);
    admitted.end();
  }
  return status;
}

void RequestPath::on_admitted(Request& request) noexcept {
  if (Status status = hand_over(request, 0); !status.ok()) fail_request(request, std::move(status));
}

void RequestPath::on_refused(Request& request, Status reason) noexcept {
  report_not_admitted(request, reason);
  fail_request(request, std::move(reason));
}

/// \param now_ns  0: the clock is asked
inline Status RequestPath::hand_over(Request& request, int64_t now_ns) noexcept {
  const bool read_clock = now_ns == 0 || validator_.reads_contents();
  request.times.queue_start_ns = read_clock ? context_.clock.now_ns() : now_ns;
  if (request.trace != nullptr) {
    request.trace->report(TraceActivity::kQueueStart, request.times.queue_start_ns);
    trace_inputs(request, TraceActivity::kTensorQueueInput);
  }
  FaultNote note(context_.fault_notes, enqueueing_.c_str());
  if (!reshapes_outputs_) return scheduler_.enqueue(request);
  interpose_output_reshape(request, info_);
  Status status = scheduler_.enqueue(request);
  if (!status.ok()) remove_output_reshape(request);
  return status;
}

uint64_t RequestPath::priority_of(const Request& request) const noexcept {
  const bool is_level = request.priority != 0 && request.priority <= priorities_.count;
  return priorities_.count == 0 || is_level ? request.priority : priorities_.standard;
}

void RequestPath::report_not_admitted(const Request& request, const Status& reason) noexcept {
  const bool cancelled = reason.code() == Code::kCancelled;
  reporter_.report_failure(request, cancelled ? FailureReason::kCanceled : FailureReason::kRejected);
}

}  // namespace atl::models
