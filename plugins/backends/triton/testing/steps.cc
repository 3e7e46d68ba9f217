/// A backend whose requests are executed COUNT times (INT32 [1]) each: they are rescheduled until the last one, whose
/// answer is OUTPUT, the number of executions. It is kept as state DONE_IN, DONE_OUT; of a model without it each request is
/// in its first one. COUNT below 0: one execution, until the request is cancelled.
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "triton/core/tritonbackend.h"

namespace {

using Error = std::unique_ptr<TRITONSERVER_Error, decltype(&TRITONSERVER_ErrorDelete)>;

Error owned(TRITONSERVER_Error* error) { return Error(error, &TRITONSERVER_ErrorDelete); }
#define RETURN_IF_ERROR(call) \
  if (TRITONSERVER_Error* failure_ = (call)) return failure_

const int64_t kShape = 1;

TRITONSERVER_Error* read(TRITONBACKEND_Request* request, const char* name, int32_t* value) {
  TRITONBACKEND_Input* input = nullptr;
  const void* data = nullptr;
  uint64_t size = 0;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, name, &input));
  RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, 0, &data, &size, &type, &id));
  std::memcpy(value, data, sizeof *value);
  return nullptr;
}

TRITONSERVER_Error* keep(TRITONBACKEND_Request* request, int32_t done) {
  TRITONBACKEND_State* state = nullptr;
  void* to = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_StateNew(&state, request, "DONE_OUT", TRITONSERVER_TYPE_INT32, &kShape, 1));
  RETURN_IF_ERROR(TRITONBACKEND_StateBuffer(state, &to, sizeof done, &type, &id));
  std::memcpy(to, &done, sizeof done);
  return TRITONBACKEND_StateUpdate(state);
}

TRITONSERVER_Error* add_output(TRITONBACKEND_Response* response, int32_t done) {
  TRITONBACKEND_Output* output = nullptr;
  void* to = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  RETURN_IF_ERROR(
      TRITONBACKEND_ResponseOutput(response, &output, "OUTPUT", TRITONSERVER_TYPE_INT32, &kShape, 1));
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &to, sizeof done, &type, &id));
  std::memcpy(to, &done, sizeof done);
  return nullptr;
}

TRITONSERVER_Error* await_cancellation(TRITONBACKEND_Request* request) {
  TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "steps.cc", 1, "waiting until the request is cancelled");
  for (bool is_cancelled = false; !is_cancelled;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    RETURN_IF_ERROR(TRITONBACKEND_RequestIsCancelled(request, &is_cancelled));
  }
  TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "steps.cc", 2, "the request is cancelled");
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_CANCELLED, "it was cancelled");
}

/// \returns an error: the request's answer. \param is_over  whether there is an answer.
TRITONSERVER_Error* step(TRITONBACKEND_Request* request, int32_t* done, bool* is_over) {
  int32_t count = 0;
  RETURN_IF_ERROR(read(request, "COUNT", &count));
  if (count < 0) return await_cancellation(request);
  const bool has_state = owned(read(request, "DONE_IN", done)) == nullptr;
  ++*done;
  if (has_state) RETURN_IF_ERROR(keep(request, *done));
  if (*done >= count) return nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
  *is_over = false;
  return nullptr;
}

void answer(TRITONBACKEND_Request* request, int32_t done, Error failure) {
  TRITONBACKEND_Response* response = nullptr;
  owned(TRITONBACKEND_ResponseNew(&response, request));
  if (failure == nullptr) failure = owned(add_output(response, done));
  owned(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure.get()));
  owned(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  for (uint32_t i = 0; i < request_count; ++i) {
    int32_t done = 0;
    bool is_over = true;
    Error failure = owned(step(requests[i], &done, &is_over));
    if (is_over) answer(requests[i], done, std::move(failure));
  }
  const auto now = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  return TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, request_count, now, now, now, now);
}
