#include "error.h"
#include "server/names.h"
#include "trace/inference_trace.h"

using namespace atl::triton;

namespace {

constexpr uint32_t kOldNames = TRITONSERVER_TRACE_LEVEL_MIN | TRITONSERVER_TRACE_LEVEL_MAX;
constexpr uint32_t kLevels = TRITONSERVER_TRACE_LEVEL_TIMESTAMPS | TRITONSERVER_TRACE_LEVEL_TENSORS;

TRITONSERVER_Error* make(TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level,
                         uint64_t parent_id, TraceCallbacks callbacks) {
  auto bits = static_cast<uint32_t>(level);
  if ((bits & ~(kOldNames | kLevels)) != 0) {
    return invalid_argument("trace level ", static_cast<int>(level), " has bits that are unknown");
  }
  if ((bits & kOldNames) != 0) bits = (bits & ~kOldNames) | TRITONSERVER_TRACE_LEVEL_TIMESTAMPS;
  callbacks.level = bits;
  return guarded([&]() -> TRITONSERVER_Error* {
    *trace = new_program_trace(callbacks, parent_id);
    return nullptr;
  });
}

}  // namespace

const char* TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_InferenceTraceLevel level) {
  static constexpr const char* kNames[] = {"DISABLED",  "MIN",       "MAX",       "<unknown>", "TIMESTAMPS",
                                           "<unknown>", "<unknown>", "<unknown>", "TENSORS"};
  return name_of(kNames, level, "<unknown>");
}

const char* TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_InferenceTraceActivity activity) {
  static constexpr const char* kNames[] = {
      "REQUEST_START",        "QUEUE_START",           "COMPUTE_START",  "COMPUTE_INPUT_END",
      "COMPUTE_OUTPUT_START", "COMPUTE_END",           "REQUEST_END",    "TENSOR_QUEUE_INPUT",
      "TENSOR_BACKEND_INPUT", "TENSOR_BACKEND_OUTPUT", "CUSTOM_ACTIVITY"};
  return name_of(kNames, activity, "<unknown>");
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceNew(TRITONSERVER_InferenceTrace** trace,
                                                   TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
                                                   TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
                                                   TRITONSERVER_InferenceTraceReleaseFn_t release_fn,
                                                   void* trace_userp) {
  if (trace == nullptr) return null_argument(__func__);
  *trace = nullptr;
  if (activity_fn == nullptr || release_fn == nullptr) return null_argument(__func__);
  return make(trace, level, parent_id, {0, activity_fn, nullptr, release_fn, trace_userp});
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceTensorNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
    TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
    TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity_fn,
    TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* trace_userp) {
  if (trace == nullptr) return null_argument(__func__);
  *trace = nullptr;
  if (activity_fn == nullptr || tensor_activity_fn == nullptr || release_fn == nullptr) {
    return null_argument(__func__);
  }
  return make(trace, level, parent_id, {0, activity_fn, tensor_activity_fn, release_fn, trace_userp});
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceReportActivity(TRITONSERVER_InferenceTrace* trace,
                                                              uint64_t timestamp, const char* activity_name) {
  if (trace == nullptr) return nullptr;
  if (activity_name == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    trace->report_custom(timestamp, activity_name);
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceDelete(TRITONSERVER_InferenceTrace* trace) {
  return trace == nullptr ? null_argument(__func__) : trace->remove();
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceId(TRITONSERVER_InferenceTrace* trace, uint64_t* id) {
  if (any_null(trace, id)) return null_argument(__func__);
  *id = trace->id();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceParentId(TRITONSERVER_InferenceTrace* trace,
                                                        uint64_t* parent_id) {
  if (any_null(trace, parent_id)) return null_argument(__func__);
  *parent_id = trace->parent_id();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelName(TRITONSERVER_InferenceTrace* trace,
                                                         const char** model_name) {
  if (any_null(trace, model_name)) return null_argument(__func__);
  *model_name = trace->model_name();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelVersion(TRITONSERVER_InferenceTrace* trace,
                                                            int64_t* model_version) {
  if (any_null(trace, model_version)) return null_argument(__func__);
  *model_version = trace->model_version();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceRequestId(TRITONSERVER_InferenceTrace* trace,
                                                         const char** request_id) {
  if (any_null(trace, request_id)) return null_argument(__func__);
  *request_id = trace->request_id();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceSpawnChildTrace(TRITONSERVER_InferenceTrace* trace,
                                                               TRITONSERVER_InferenceTrace** child_trace) {
  if (child_trace == nullptr) return null_argument(__func__);
  *child_trace = nullptr;
  if (trace == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    *child_trace = trace->spawn();
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceSetContext(TRITONSERVER_InferenceTrace* trace,
                                                          const char* trace_context) {
  if (any_null(trace, trace_context)) return null_argument(__func__);
  return guarded([&] { return trace->set_context(trace_context); });
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceContext(TRITONSERVER_InferenceTrace* trace,
                                                       const char** trace_context) {
  if (any_null(trace, trace_context)) return null_argument(__func__);
  *trace_context = trace->context();
  return nullptr;
}
