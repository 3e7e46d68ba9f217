/// What backends report of executions.
#include <algorithm>
#include <limits>
#include <utility>

#include "atoll/triton/backend.h"
#include "atoll/triton/status.h"
#include "backend/exchange.h"

using atl::ExecutionTimes;
using atl::InferenceReporter;
using namespace atl::triton;

struct TRITONBACKEND_ModelInstanceResponseStatistics {
  std::atomic<bool> is_live{false};
  TRITONBACKEND_ModelInstance* instance = nullptr;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  uint64_t start_ns = 0;
  uint64_t output_start_ns = 0;  ///< 0: it has no outputs
  uint64_t end_ns = 0;
  atl::Code outcome = atl::Code::kOk;

  TRITONBACKEND_ModelInstanceResponseStatistics* next_free = nullptr;
  uint32_t shard = 0;
};

namespace {

using ResponseStatistics = TRITONBACKEND_ModelInstanceResponseStatistics;

constinit CellPool<ResponseStatistics> statistics_pool;

int64_t ns(uint64_t number) noexcept {
  return static_cast<int64_t>(std::min<uint64_t>(number, std::numeric_limits<int64_t>::max()));
}

/// Never descending, whatever the four are.
ExecutionTimes times_of(uint64_t execute_start, uint64_t compute_start, uint64_t compute_end,
                        uint64_t execute_end) noexcept {
  ExecutionTimes times;
  times.execute_start_ns = ns(execute_start);
  times.compute_start_ns = std::max(times.execute_start_ns, ns(compute_start));
  times.compute_end_ns = std::max(times.compute_start_ns, ns(compute_end));
  times.execute_end_ns = std::max(times.compute_end_ns, ns(execute_end));
  return times;
}

bool is_live(const ResponseStatistics* statistics) noexcept {
  return statistics != nullptr && statistics->is_live.load(std::memory_order_acquire);
}

/// Sets a member.
template <class T>
TRITONSERVER_Error* set_member(const char* function, ResponseStatistics* of, T ResponseStatistics::*member,
                               T value) noexcept {
  if (!is_live(of)) return refuse(function, "object", of, false);
  of->*member = value;
  return nullptr;
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, const bool success,
    const uint64_t exec_start_ns, const uint64_t compute_start_ns, const uint64_t compute_end_ns,
    const uint64_t exec_end_ns) {
  if (any_null(instance, request)) return null_argument(__func__);
  const Locked exchange(request);
  // Of a request that is executed again its last execution counts.
  if (!exchange && was_given_back(*request)) return nullptr;
  if (!exchange) return refuse_change(__func__, request);
  if (std::exchange(exchange->is_reported, true))
    return invalid_argument("request '", exchange->origin->id, "' was reported already");
  const bool cancelled = exchange->responses_sent == 0 && exchange->channel == ResponseState::kOpen
                             ? exchange->origin->cancelled()
                             : exchange->answer == atl::Code::kCancelled;
  exchange->execution = {instance->reporter,
                         times_of(exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns), success,
                         !success && cancelled};
  // What may be executed again is reported when it is released for good.
  if (exchange->origin->rescheduler == nullptr) report_execution(*exchange);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, const uint64_t batch_size, const uint64_t exec_start_ns,
    const uint64_t compute_start_ns, const uint64_t compute_end_ns, const uint64_t exec_end_ns) {
  if (instance == nullptr) return null_argument(__func__);
  if (batch_size > std::numeric_limits<uint32_t>::max())
    return invalid_argument("a batch of ", batch_size, " is too large");
  if (batch_size == 0 || instance->reporter == nullptr) return nullptr;
  instance->reporter->report_batch(static_cast<uint32_t>(batch_size),
                                   times_of(exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns));
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsNew(
    TRITONBACKEND_ModelInstanceResponseStatistics** response_statistics) {
  if (response_statistics == nullptr) return null_argument(__func__);
  ResponseStatistics& made = statistics_pool.take();
  made.instance = nullptr;
  made.factory = nullptr;
  made.start_ns = made.output_start_ns = made.end_ns = 0;
  made.outcome = atl::Code::kOk;
  made.is_live.store(true, std::memory_order_release);
  *response_statistics = &made;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsDelete(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics) {
  if (response_statistics == nullptr || !response_statistics->is_live.exchange(false))
    return refuse(__func__, "object", response_statistics, false);
  statistics_pool.give_back(*response_statistics);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics,
    TRITONBACKEND_ModelInstance* model_instance) {
  if (model_instance == nullptr) return null_argument(__func__);
  return set_member(__func__, response_statistics, &ResponseStatistics::instance, model_instance);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics,
    TRITONBACKEND_ResponseFactory* response_factory) {
  if (!Locked(response_factory)) return refuse(__func__, "response factory", response_factory, false);
  return set_member(__func__, response_statistics, &ResponseStatistics::factory, response_factory);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics, uint64_t response_start) {
  return set_member(__func__, response_statistics, &ResponseStatistics::start_ns, response_start);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics, uint64_t compute_output_start) {
  return set_member(__func__, response_statistics, &ResponseStatistics::output_start_ns,
                    compute_output_start);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics, uint64_t response_end) {
  return set_member(__func__, response_statistics, &ResponseStatistics::end_ns, response_end);
}

// Only what came of it counts: the error stays the caller's.
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetError(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics, TRITONSERVER_Error* error) {
  const atl::Code outcome = error == nullptr ? atl::Code::kOk : code_of(TRITONSERVER_ErrorCode(error));
  return set_member(__func__, response_statistics, &ResponseStatistics::outcome, outcome);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportResponseStatistics(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics) {
  if (!is_live(response_statistics)) return refuse(__func__, "object", response_statistics, false);
  const ResponseStatistics& reported = *response_statistics;
  if (reported.instance == nullptr) return invalid_argument(__func__, ": no model instance was set");
  const Locked exchange(reported.factory);
  if (!exchange) return invalid_argument(__func__, ": no response factory was set, or it was deleted");
  const bool has_outputs = reported.output_start_ns != 0;
  if (has_outputs && reported.start_ns > reported.output_start_ns)
    return invalid_argument("Response start cannot happen after compute output start");
  if (has_outputs && reported.output_start_ns > reported.end_ns)
    return invalid_argument("Compute output start cannot happen after response end");
  if (reported.start_ns > reported.end_ns)
    return invalid_argument("Response start cannot happen after response end");
  const uint64_t index = exchange->responses_reported++;
  if (InferenceReporter* reporter = reported.instance->reporter; reporter != nullptr) {
    reporter->report_response(index, reported.outcome,
                              {ns(reported.start_ns), ns(reported.output_start_ns), ns(reported.end_ns)});
  }
  return nullptr;
}
