/// Decoupled: a response for each element of IN (INT32 [n]), DELAY_MS (INT32 [1]) after the one before: the element as
/// OUT (INT32 [1]) and its position as IDX (INT32 [1]).
#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "triton/core/tritonbackend.h"

namespace {

using Error = std::unique_ptr<TRITONSERVER_Error, decltype(&TRITONSERVER_ErrorDelete)>;

Error owned(TRITONSERVER_Error* error) { return Error(error, &TRITONSERVER_ErrorDelete); }
#define RETURN_IF_ERROR(call) \
  if (TRITONSERVER_Error* failure_ = (call)) return failure_
uint64_t now_ns() { return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()); }

/// What is left of a request that is released, and is answered on a thread of its own.
struct Stream {
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  std::vector<std::string> outputs;  ///< that the client wants
  std::vector<int32_t> values, delay_ms;
  std::atomic<bool> has_ended = false;
  std::jthread thread;  ///< last, so that it has ended before the others go
};

/// The state of an instance, whose end waits for them.
using Streams = std::list<Stream>;

TRITONSERVER_Error* expect_cpu(TRITONSERVER_MemoryType type) {
  if (type != TRITONSERVER_MEMORY_GPU) return nullptr;
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "repeat works on the CPU only");
}

TRITONSERVER_Error* read(TRITONBACKEND_Request* request, const char* name, std::vector<int32_t>* values) {
  TRITONBACKEND_Input* input = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, name, &input));
  uint64_t size = 0;
  uint32_t buffers = 0;
  RETURN_IF_ERROR(TRITONBACKEND_InputProperties(input, nullptr, nullptr, nullptr, nullptr, &size, &buffers));
  values->resize(size / sizeof(int32_t));
  char* to = reinterpret_cast<char*>(values->data());
  for (uint32_t i = 0; i < buffers; ++i) {
    const void* data = nullptr;
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    int64_t id = 0;
    RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, i, &data, &size, &type, &id));
    RETURN_IF_ERROR(expect_cpu(type));
    if (size != 0) std::memcpy(to, data, size);
    to += size;
  }
  return nullptr;
}

TRITONSERVER_Error* write(TRITONBACKEND_Response* response, const std::string& name, int32_t value) {
  const int64_t shape = 1;
  TRITONBACKEND_Output* output = nullptr;
  RETURN_IF_ERROR(
      TRITONBACKEND_ResponseOutput(response, &output, name.c_str(), TRITONSERVER_TYPE_INT32, &shape, 1));
  void* to = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &to, sizeof value, &type, &id));
  RETURN_IF_ERROR(expect_cpu(type));
  std::memcpy(to, &value, sizeof value);
  return nullptr;
}

TRITONSERVER_Error* send(const Stream& stream, size_t i) {
  TRITONBACKEND_Response* response = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ResponseNewFromFactory(&response, stream.factory));
  Error failure = owned(nullptr);
  for (const std::string& name : stream.outputs) {
    if (!failure) failure = owned(write(response, name, name == "OUT" ? stream.values[i] : int32_t(i)));
  }
  return TRITONBACKEND_ResponseSend(response, 0, failure.get());
}

void run(Stream& stream) {
  for (size_t i = 0; i < stream.values.size(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(stream.delay_ms.empty() ? 0 : stream.delay_ms[0]));
    bool is_cancelled = false;
    owned(TRITONBACKEND_ResponseFactoryIsCancelled(stream.factory, &is_cancelled));
    if (is_cancelled || owned(send(stream, i)) != nullptr) break;
  }
  owned(TRITONBACKEND_ResponseFactorySendFlags(stream.factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
  owned(TRITONBACKEND_ResponseFactoryDelete(stream.factory));
  stream.has_ended = true;
}

TRITONSERVER_Error* begin(Stream& stream, TRITONBACKEND_Request* request) {
  RETURN_IF_ERROR(read(request, "IN", &stream.values));
  RETURN_IF_ERROR(read(request, "DELAY_MS", &stream.delay_ms));
  uint32_t count = 0;
  RETURN_IF_ERROR(TRITONBACKEND_RequestOutputCount(request, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    RETURN_IF_ERROR(TRITONBACKEND_RequestOutputName(request, i, &name));
    stream.outputs.emplace_back(name);
  }
  RETURN_IF_ERROR(TRITONBACKEND_ResponseFactoryNew(&stream.factory, request));
  stream.thread = std::jthread(run, std::ref(stream));
  return nullptr;
}

void execute(TRITONBACKEND_ModelInstance* handle, Streams& streams, TRITONBACKEND_Request* request) {
  const uint64_t begun = now_ns();
  const Error failure = owned(begin(streams.emplace_back(), request));
  if (failure != nullptr) {
    streams.pop_back();
    TRITONBACKEND_Response* response = nullptr;
    owned(TRITONBACKEND_ResponseNew(&response, request));
    owned(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure.get()));
  }
  owned(TRITONBACKEND_ModelInstanceReportStatistics(handle, request, !failure, begun, begun, now_ns(),
                                                    now_ns()));
  owned(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* handle) {
  return TRITONBACKEND_ModelInstanceSetState(handle, new Streams);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* handle) {
  void* state = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceState(handle, &state));
  delete static_cast<Streams*>(state);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* handle,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  void* state = nullptr;
  RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceState(handle, &state));
  auto& streams = *static_cast<Streams*>(state);
  streams.remove_if([](const Stream& one) { return one.has_ended.load(); });
  const uint64_t begun = now_ns();
  for (uint32_t i = 0; i < request_count; ++i) execute(handle, streams, requests[i]);
  return TRITONBACKEND_ModelInstanceReportBatchStatistics(handle, request_count, begun, begun, now_ns(),
                                                          now_ns());
}
