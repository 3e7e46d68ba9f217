/// Asks another model of its server, and waits on no thread: what "asks_<model>" is asked <model> answers, in one response.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "triton/core/tritonbackend.h"
#include "triton/core/tritonserver.h"

namespace {

using Error = std::unique_ptr<TRITONSERVER_Error, decltype(&TRITONSERVER_ErrorDelete)>;
Error owned(TRITONSERVER_Error* error) { return Error(error, &TRITONSERVER_ErrorDelete); }
#define RETURN_IF_ERROR(call) \
  if (TRITONSERVER_Error* failure_ = (call)) return failure_
uint64_t now_ns() { return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()); }
TRITONSERVER_ResponseAllocator* allocator = nullptr;

struct Tensor {
  const char* name;
  TRITONSERVER_DataType type;
  const int64_t* shape;
  uint64_t dims, size;
  const void* data;
  TRITONSERVER_MemoryType memory;
  int64_t id;
};

/// A request that waits for its answer. It lends its inputs to the one it asks by, so it is released after that.
struct Question {
  TRITONBACKEND_ModelInstance* instance;
  TRITONBACKEND_Request* request;
  TRITONSERVER_InferenceRequest* asked = nullptr;
  uint64_t begun_ns = now_ns();
  bool success = false;
  std::atomic<int> open = 2;  ///< callbacks that are still to come: the last response's, the release's
  ~Question() {
    if (asked != nullptr) owned(TRITONSERVER_InferenceRequestDelete(asked));
    owned(TRITONBACKEND_ModelInstanceReportStatistics(instance, request, success, begun_ns, begun_ns,
                                                      now_ns(), now_ns()));
    owned(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
  }
};

TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator*, const char*, size_t size,
                             TRITONSERVER_MemoryType, int64_t, void*, void** buffer, void**,
                             TRITONSERVER_MemoryType* type, int64_t* id) {
  *type = TRITONSERVER_MEMORY_CPU;
  *id = 0;
  *buffer = std::malloc(size == 0 ? 1 : size);
  return *buffer ? nullptr : TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "out of memory");
}

TRITONSERVER_Error* release(TRITONSERVER_ResponseAllocator*, void* buffer, void*, size_t,
                            TRITONSERVER_MemoryType, int64_t) {
  std::free(buffer);
  return nullptr;
}

TRITONSERVER_Error* copy(TRITONSERVER_InferenceResponse* from, uint32_t i, TRITONBACKEND_Response* to) {
  Tensor t{};
  TRITONBACKEND_Output* output = nullptr;
  void* data = nullptr;
  RETURN_IF_ERROR(TRITONSERVER_InferenceResponseOutput(from, i, &t.name, &t.type, &t.shape, &t.dims, &t.data,
                                                       &t.size, &t.memory, &t.id, nullptr));
  RETURN_IF_ERROR(TRITONBACKEND_ResponseOutput(to, &output, t.name, t.type, t.shape, uint32_t(t.dims)));
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &data, t.size, &t.memory, &t.id));
  if (t.memory == TRITONSERVER_MEMORY_GPU)
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "on a GPU");
  if (t.size != 0) std::memcpy(data, t.data, t.size);
  return nullptr;
}

void on_response(TRITONSERVER_InferenceResponse* answer, const uint32_t flags, void* userp) {
  auto* one = static_cast<Question*>(userp);
  TRITONBACKEND_Response* response = nullptr;
  if (answer != nullptr && !owned(TRITONBACKEND_ResponseNew(&response, one->request))) {
    uint32_t count = 0;
    Error failure = owned(TRITONSERVER_InferenceResponseError(answer));
    if (!failure) failure = owned(TRITONSERVER_InferenceResponseOutputCount(answer, &count));
    for (uint32_t i = 0; !failure && i < count; ++i) failure = owned(copy(answer, i, response));
    one->success = failure == nullptr;
    owned(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure.get()));
  }
  if (answer != nullptr) owned(TRITONSERVER_InferenceResponseDelete(answer));
  if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0 && --one->open == 0) delete one;
}

void on_release(TRITONSERVER_InferenceRequest*, const uint32_t, void* userp) {
  if (auto* one = static_cast<Question*>(userp); --one->open == 0) delete one;
}

TRITONSERVER_Error* lend_input(TRITONBACKEND_Request* from, uint32_t i, TRITONSERVER_InferenceRequest* to) {
  Tensor t{};
  TRITONBACKEND_Input* input = nullptr;
  uint32_t dims = 0, parts = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInputByIndex(from, i, &input));
  RETURN_IF_ERROR(TRITONBACKEND_InputProperties(input, &t.name, &t.type, &t.shape, &dims, nullptr, &parts));
  RETURN_IF_ERROR(TRITONSERVER_InferenceRequestAddInput(to, t.name, t.type, t.shape, dims));
  for (uint32_t k = 0; k < parts; ++k) {
    RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, k, &t.data, &t.size, &t.memory, &t.id));
    RETURN_IF_ERROR(TRITONSERVER_InferenceRequestAppendInputData(to, t.name, t.data, t.size, t.memory, t.id));
  }
  return nullptr;
}

TRITONSERVER_Error* ask(TRITONBACKEND_Model* model, Question* one) {
  TRITONSERVER_Server* server = nullptr;
  const char* name = nullptr;
  uint32_t count = 0;
  RETURN_IF_ERROR(TRITONBACKEND_ModelServer(model, &server));
  RETURN_IF_ERROR(TRITONBACKEND_ModelName(model, &name));
  const char* mark = std::strchr(name, '_');
  RETURN_IF_ERROR(TRITONSERVER_InferenceRequestNew(&one->asked, server, mark ? mark + 1 : "", -1));
  RETURN_IF_ERROR(TRITONBACKEND_RequestInputCount(one->request, &count));
  for (uint32_t i = 0; i < count; ++i) RETURN_IF_ERROR(lend_input(one->request, i, one->asked));
  RETURN_IF_ERROR(TRITONSERVER_InferenceRequestSetReleaseCallback(one->asked, &on_release, one));
  RETURN_IF_ERROR(
      TRITONSERVER_InferenceRequestSetResponseCallback(one->asked, allocator, nullptr, &on_response, one));
  return TRITONSERVER_ServerInferAsync(server, one->asked, nullptr);
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
  return TRITONSERVER_ResponseAllocatorNew(&allocator, &allocate, &release, nullptr);
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend*) {
  return TRITONSERVER_ResponseAllocatorDelete(allocator);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests, uint32_t count) {
  const uint64_t begun = now_ns();
  TRITONBACKEND_Model* model = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceModel(instance, &model));
  for (uint32_t i = 0; i < count; ++i) {
    auto* one = new Question{instance, requests[i]};
    if (const Error failure = owned(ask(model, one))) {
      TRITONBACKEND_Response* response = nullptr;
      owned(TRITONBACKEND_ResponseNew(&response, one->request));
      owned(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure.get()));
      delete one;
    }
  }
  return TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, count, begun, begun, now_ns(), now_ns());
}
