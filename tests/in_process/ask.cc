/// A backend made for Triton whose models ask the model "asked" with their INPUT0, and answer with its OUTPUT0. When they
/// ask says the model's name: "asks_late" once the server exits and has no page of metrics, "asks_when_told" once the
/// file is there that INPUT0 names, any other at once.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "heap_allocator.h"
#include "triton/core/tritonbackend.h"

namespace {

using Error = std::unique_ptr<TRITONSERVER_Error, decltype(&TRITONSERVER_ErrorDelete)>;

Error owned(TRITONSERVER_Error* error) { return Error(error, &TRITONSERVER_ErrorDelete); }
#define RETURN_IF_ERROR(call) \
  if (TRITONSERVER_Error* failure_ = (call)) return failure_

void released(TRITONSERVER_InferenceRequest* request, const uint32_t, void*) {
  owned(TRITONSERVER_InferenceRequestDelete(request));
}

struct Asked {
  std::promise<void> is_done;
  std::string bytes;
  Error failure = owned(nullptr);
};

TRITONSERVER_Error* read(TRITONSERVER_InferenceResponse* response, std::string* bytes) {
  RETURN_IF_ERROR(TRITONSERVER_InferenceResponseError(response));
  const char* name = nullptr;
  TRITONSERVER_DataType datatype;
  const int64_t* shape = nullptr;
  uint64_t dims = 0;
  const void* base = nullptr;
  size_t size = 0;
  TRITONSERVER_MemoryType type;
  int64_t id = 0;
  void* userp = nullptr;
  RETURN_IF_ERROR(TRITONSERVER_InferenceResponseOutput(response, 0, &name, &datatype, &shape, &dims, &base,
                                                       &size, &type, &id, &userp));
  bytes->assign(static_cast<const char*>(base), size);
  return nullptr;
}

void responded(TRITONSERVER_InferenceResponse* response, const uint32_t, void* userp) {
  auto& asked = *static_cast<Asked*>(userp);
  asked.failure = owned(read(response, &asked.bytes));
  owned(TRITONSERVER_InferenceResponseDelete(response));
  asked.is_done.set_value();
}

TRITONSERVER_Error* ask(TRITONSERVER_Server* server, const std::string& bytes, Asked& asked) {
  TRITONSERVER_InferenceRequest* request = nullptr;
  RETURN_IF_ERROR(TRITONSERVER_InferenceRequestNew(&request, server, "asked", -1));
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  RETURN_IF_ERROR(TRITONSERVER_ResponseAllocatorNew(&allocator, atl::in_process::allocate,
                                                    atl::in_process::give_back, nullptr));
  const auto size = static_cast<int64_t>(bytes.size());
  owned(TRITONSERVER_InferenceRequestAddInput(request, "INPUT0", TRITONSERVER_TYPE_UINT8, &size, 1));
  owned(TRITONSERVER_InferenceRequestAppendInputData(request, "INPUT0", bytes.data(), bytes.size(),
                                                     TRITONSERVER_MEMORY_CPU, 0));
  owned(TRITONSERVER_InferenceRequestSetReleaseCallback(request, released, nullptr));
  owned(TRITONSERVER_InferenceRequestSetResponseCallback(request, allocator, nullptr, responded, &asked));
  Error failure = owned(TRITONSERVER_ServerInferAsync(server, request, nullptr));
  if (failure) {
    owned(TRITONSERVER_InferenceRequestDelete(request));
  } else {
    asked.is_done.get_future().wait();
    failure = std::move(asked.failure);
  }
  owned(TRITONSERVER_ResponseAllocatorDelete(allocator));
  return failure.release();
}

bool is_live(TRITONSERVER_Server* server) {
  bool live = false;
  owned(TRITONSERVER_ServerIsLive(server, &live));
  return live;
}
bool has_metrics(TRITONSERVER_Server* server) {
  TRITONSERVER_Metrics* metrics = nullptr;
  const bool has = owned(TRITONSERVER_ServerMetrics(server, &metrics)) == nullptr;
  if (has) owned(TRITONSERVER_MetricsDelete(metrics));
  return has;
}

void wait_for_turn(TRITONSERVER_Server* server, const std::string& model, const std::string& bytes) {
  const auto pause = std::chrono::milliseconds(1);
  while (model == "asks_when_told" && !std::filesystem::exists(bytes)) std::this_thread::sleep_for(pause);
  if (model != "asks_late") return;
  owned(TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, "waiting for the server's end"));
  while (is_live(server) || has_metrics(server)) std::this_thread::sleep_for(pause);
}

TRITONSERVER_Error* answer(TRITONBACKEND_Model* model, TRITONBACKEND_Request* request,
                           TRITONBACKEND_Response* response) {
  TRITONSERVER_Server* server = nullptr;
  const char* name = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelServer(model, &server));
  RETURN_IF_ERROR(TRITONBACKEND_ModelName(model, &name));
  TRITONBACKEND_Input* input = nullptr;
  const void* data = nullptr;
  uint64_t size = 0;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, "INPUT0", &input));
  RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, 0, &data, &size, &type, &id));
  const std::string bytes(static_cast<const char*>(data), size);
  wait_for_turn(server, name, bytes);
  Asked asked;
  RETURN_IF_ERROR(ask(server, bytes, asked));
  TRITONBACKEND_Output* output = nullptr;
  const auto length = static_cast<int64_t>(asked.bytes.size());
  void* to = nullptr;
  RETURN_IF_ERROR(
      TRITONBACKEND_ResponseOutput(response, &output, "OUTPUT0", TRITONSERVER_TYPE_UINT8, &length, 1));
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &to, asked.bytes.size(), &type, &id));
  std::memcpy(to, asked.bytes.data(), asked.bytes.size());
  return nullptr;
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  TRITONBACKEND_Model* model = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceModel(instance, &model));
  for (uint32_t i = 0; i < request_count; ++i) {
    TRITONBACKEND_Response* response = nullptr;
    owned(TRITONBACKEND_ResponseNew(&response, requests[i]));
    const Error failure = owned(answer(model, requests[i], response));
    owned(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure.get()));
    owned(TRITONBACKEND_RequestRelease(requests[i], TRITONSERVER_REQUEST_RELEASE_ALL));
  }
  return nullptr;
}
