/// Numbers of the server's side that programs and shared objects made for Triton were compiled with.
#include "atoll/core/metrics.h"
#include "atoll/request/request.h"
#include "atoll/request/trace.h"
#include "triton/core/tritonserver.h"

namespace {

template <class... Enums>
constexpr bool have_four_bytes() {
  return (... && (sizeof(Enums) == 4));
}
static_assert(
    have_four_bytes<TRITONSERVER_InstanceGroupKind, TRITONSERVER_LogFormat, TRITONSERVER_RequestReleaseFlag,
                    TRITONSERVER_ResponseCompleteFlag, TRITONSERVER_InferenceTraceLevel,
                    TRITONSERVER_InferenceTraceActivity, TRITONSERVER_ModelControlMode,
                    TRITONSERVER_RateLimitMode, TRITONSERVER_ModelBatchFlag, TRITONSERVER_ModelIndexFlag,
                    TRITONSERVER_ModelTxnPropertyFlag, TRITONSERVER_MetricKind, TRITONSERVER_MetricFormat>());

static_assert(TRITONSERVER_INSTANCEGROUPKIND_AUTO == 0 && TRITONSERVER_INSTANCEGROUPKIND_CPU == 1 &&
              TRITONSERVER_INSTANCEGROUPKIND_GPU == 2 && TRITONSERVER_INSTANCEGROUPKIND_MODEL == 3);
static_assert(TRITONSERVER_LOG_DEFAULT == 0 && TRITONSERVER_LOG_ISO8601 == 1);
static_assert(int{TRITONSERVER_REQUEST_RELEASE_ALL} == int{atl::kReleaseAll} &&
              int{TRITONSERVER_REQUEST_RELEASE_RESCHEDULE} == int{atl::kReleaseReschedule});
static_assert(int{TRITONSERVER_RESPONSE_COMPLETE_FINAL} == int{atl::kFinal});
static_assert(TRITONSERVER_TRACE_LEVEL_DISABLED == 0 && TRITONSERVER_TRACE_LEVEL_MIN == 1 &&
              TRITONSERVER_TRACE_LEVEL_MAX == 2 && TRITONSERVER_TRACE_LEVEL_TIMESTAMPS == 4 &&
              TRITONSERVER_TRACE_LEVEL_TENSORS == 8);

constexpr bool is(TRITONSERVER_InferenceTraceActivity theirs, atl::TraceActivity ours, int number) {
  return int{theirs} == number && static_cast<int>(ours) == number;
}
static_assert(is(TRITONSERVER_TRACE_REQUEST_START, atl::TraceActivity::kRequestStart, 0) &&
              is(TRITONSERVER_TRACE_QUEUE_START, atl::TraceActivity::kQueueStart, 1) &&
              is(TRITONSERVER_TRACE_COMPUTE_START, atl::TraceActivity::kComputeStart, 2) &&
              is(TRITONSERVER_TRACE_COMPUTE_INPUT_END, atl::TraceActivity::kComputeInputEnd, 3) &&
              is(TRITONSERVER_TRACE_COMPUTE_OUTPUT_START, atl::TraceActivity::kComputeOutputStart, 4) &&
              is(TRITONSERVER_TRACE_COMPUTE_END, atl::TraceActivity::kComputeEnd, 5) &&
              is(TRITONSERVER_TRACE_REQUEST_END, atl::TraceActivity::kRequestEnd, 6) &&
              is(TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT, atl::TraceActivity::kTensorQueueInput, 7) &&
              is(TRITONSERVER_TRACE_TENSOR_BACKEND_INPUT, atl::TraceActivity::kTensorBackendInput, 8) &&
              is(TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT, atl::TraceActivity::kTensorBackendOutput, 9) &&
              is(TRITONSERVER_TRACE_CUSTOM_ACTIVITY, atl::TraceActivity::kCustomActivity, 10));

static_assert(TRITONSERVER_MODEL_CONTROL_NONE == 0 && TRITONSERVER_MODEL_CONTROL_POLL == 1 &&
              TRITONSERVER_MODEL_CONTROL_EXPLICIT == 2);
static_assert(TRITONSERVER_RATE_LIMIT_OFF == 0 && TRITONSERVER_RATE_LIMIT_EXEC_COUNT == 1);
static_assert(TRITONSERVER_BATCH_UNKNOWN == 1 && TRITONSERVER_BATCH_FIRST_DIM == 2);
static_assert(TRITONSERVER_INDEX_FLAG_READY == 1);
static_assert(TRITONSERVER_TXN_ONE_TO_ONE == 1 && TRITONSERVER_TXN_DECOUPLED == 2);
static_assert(TRITONSERVER_METRIC_KIND_COUNTER == 0 && TRITONSERVER_METRIC_KIND_GAUGE == 1 &&
              TRITONSERVER_METRIC_KIND_HISTOGRAM == 2);
static_assert(TRITONSERVER_METRIC_PROMETHEUS == 0);

}  // namespace
