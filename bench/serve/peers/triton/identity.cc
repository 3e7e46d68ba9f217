// The identity backend for the real Triton: OUTPUT0 is a copy of INPUT0. It does as little as the API allows,
// so that what is measured is the server.
#include <cstring>

#include "triton_api.h"

namespace {

using bench::now_ns;

/// Copies the first input of a request into its response; null or the error to answer with.
TRITONSERVER_Error* copy_input(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  TRITONBACKEND_Input* input = nullptr;
  if (auto* error = TRITONBACKEND_RequestInputByIndex(request, 0, &input)) return error;
  int datatype = 0;
  const int64_t* shape = nullptr;
  uint32_t dims = 0;
  uint32_t buffers = 0;
  uint64_t bytes = 0;
  if (auto* error =
          TRITONBACKEND_InputProperties(input, nullptr, &datatype, &shape, &dims, &bytes, &buffers)) {
    return error;
  }
  TRITONBACKEND_Output* output = nullptr;
  if (auto* error = TRITONBACKEND_ResponseOutput(response, &output, "OUTPUT0", datatype, shape, dims))
    return error;
  void* target = nullptr;
  int memory = bench::kMemoryCpu;
  int64_t memory_id = 0;
  if (auto* error = TRITONBACKEND_OutputBuffer(output, &target, bytes, &memory, &memory_id)) return error;
  if (memory != bench::kMemoryCpu) {
    return TRITONSERVER_ErrorNew(bench::kErrorInternal, "the output buffer is not in CPU memory");
  }
  uint64_t offset = 0;
  for (uint32_t i = 0; i < buffers; ++i) {
    const void* source = nullptr;
    uint64_t size = 0;
    int source_memory = bench::kMemoryCpu;
    int64_t source_id = 0;
    if (auto* error = TRITONBACKEND_InputBuffer(input, i, &source, &size, &source_memory, &source_id))
      return error;
    std::memcpy(static_cast<char*>(target) + offset, source, size);
    offset += size;
  }
  return nullptr;
}

}  // namespace

BENCH_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                                    TRITONBACKEND_Request** requests,
                                                                    uint32_t count) {
  const uint64_t start = now_ns();
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t compute_start = now_ns();
    TRITONBACKEND_Response* response = nullptr;
    TRITONSERVER_Error* error = TRITONBACKEND_ResponseNew(&response, requests[i]);
    const bool has_response = error == nullptr;
    if (has_response) error = copy_input(requests[i], response);
    const uint64_t compute_end = now_ns();
    if (has_response) TRITONBACKEND_ResponseSend(response, bench::kResponseComplete, error);
    TRITONBACKEND_ModelInstanceReportStatistics(instance, requests[i], error == nullptr, start, compute_start,
                                                compute_end, now_ns());
    TRITONSERVER_ErrorDelete(error);
    TRITONBACKEND_RequestRelease(requests[i], bench::kRequestReleaseAll);
  }
  return nullptr;
}
