/// A backend for sequences in C++: OUTPUT (INT32 [1]) is the sum of INPUT (INT32 [1]) over the sequence so far. The
/// server keeps the sum: its state goes from the output SUM_OUT of one request to the input SUM_IN of the next.
#include <chrono>
#include <cstring>
#include <memory>

#include "triton/core/tritonbackend.h"

namespace {

using Error = std::unique_ptr<TRITONSERVER_Error, decltype(&TRITONSERVER_ErrorDelete)>;

Error owned(TRITONSERVER_Error* error) { return Error(error, &TRITONSERVER_ErrorDelete); }

#define RETURN_IF_ERROR(call) \
  if (TRITONSERVER_Error* failure_ = (call)) return failure_

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

TRITONSERVER_Error* invalid(const char* text) {
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, text);
}

TRITONSERVER_Error* read(TRITONBACKEND_Request* request, const char* name, int32_t* value) {
  TRITONBACKEND_Input* input = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, name, &input));
  const void* data = nullptr;
  uint64_t size = 0;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, 0, &data, &size, &type, &id));
  if (type == TRITONSERVER_MEMORY_GPU || size != sizeof *value)
    return invalid("expected one INT32 on the CPU");
  std::memcpy(value, data, sizeof *value);
  return nullptr;
}

TRITONSERVER_Error* write(void* to, TRITONSERVER_MemoryType type, int32_t value) {
  if (type == TRITONSERVER_MEMORY_GPU) return invalid("accumulate works on the CPU only");
  std::memcpy(to, &value, sizeof value);
  return nullptr;
}

TRITONSERVER_Error* answer(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  int32_t value = 0, sum = 0;
  RETURN_IF_ERROR(read(request, "INPUT", &value));
  RETURN_IF_ERROR(read(request, "SUM_IN", &sum));  // 0 in a sequence's first request
  sum += value;

  TRITONBACKEND_Input* input = nullptr;
  const int64_t* shape = nullptr;
  uint32_t dims = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, "INPUT", &input));
  RETURN_IF_ERROR(TRITONBACKEND_InputProperties(input, nullptr, nullptr, &shape, &dims, nullptr, nullptr));
  void* to = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  TRITONBACKEND_State* state = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_StateNew(&state, request, "SUM_OUT", TRITONSERVER_TYPE_INT32, shape, dims));
  RETURN_IF_ERROR(TRITONBACKEND_StateBuffer(state, &to, sizeof sum, &type, &id));
  RETURN_IF_ERROR(write(to, type, sum));
  RETURN_IF_ERROR(TRITONBACKEND_StateUpdate(state));

  TRITONBACKEND_Output* output = nullptr;
  type = TRITONSERVER_MEMORY_CPU;
  RETURN_IF_ERROR(
      TRITONBACKEND_ResponseOutput(response, &output, "OUTPUT", TRITONSERVER_TYPE_INT32, shape, dims));
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &to, sizeof sum, &type, &id));
  return write(to, type, sum);
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  const uint64_t begun = now_ns();
  for (uint32_t i = 0; i < request_count; ++i) {
    TRITONBACKEND_Response* response = nullptr;
    Error failure = owned(TRITONBACKEND_ResponseNew(&response, requests[i]));
    if (failure == nullptr) {
      failure = owned(answer(requests[i], response));
      owned(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure.get()));
    }
    const uint64_t ended = now_ns();
    owned(TRITONBACKEND_ModelInstanceReportStatistics(instance, requests[i], failure == nullptr, begun, begun,
                                                      ended, ended));
    owned(TRITONBACKEND_RequestRelease(requests[i], TRITONSERVER_REQUEST_RELEASE_ALL));
  }
  const uint64_t ended = now_ns();
  return TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, request_count, begun, begun, ended,
                                                          ended);
}
