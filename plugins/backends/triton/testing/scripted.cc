/// A backend that does what the names of backend, model and instance say, and records what it is called for.
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include "triton/core/tritonbackend.h"

namespace {

std::mutex mutex;
std::condition_variable changed;
std::string calls;
int hanging = 0;
bool is_released = false;
int state;

void record(const char* call) {
  std::lock_guard lock(mutex);
  calls += (calls.empty() ? "" : " ") + std::string(call);
  changed.notify_all();
}

void hang() {
  TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "scripted.cc", 2, "a call hangs");
  std::unique_lock lock(mutex);
  ++hanging;
  changed.notify_all();
  changed.wait(lock, [] { return is_released; });
}

TRITONSERVER_Error* failure() {
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "as it was told");
}

/// "fails_<step>", "throws_<step>", "fails_<step>_with_state", "hangs_<step>": until it is released
TRITONSERVER_Error* act(const char* name, const char* step) {
  const std::string_view script(name);
  if (script == std::string("throws_") + step) throw std::runtime_error("as it was told");
  if (script == std::string("hangs_") + step) hang();
  return script.starts_with(std::string("fails_") + step) ? failure() : nullptr;
}

bool leaves_state(const char* name) { return std::string_view(name).ends_with("_with_state"); }

const char* model_name(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  const char* name = "";
  TRITONBACKEND_ModelInstanceModel(instance, &model);
  TRITONBACKEND_ModelName(model, &name);
  return name;
}

TRITONSERVER_Error* complete(TRITONBACKEND_Model* model, const std::string& json) {
  TRITONSERVER_Message* message = nullptr;
  TRITONSERVER_MessageNewFromSerializedJson(&message, json.data(), json.size());
  TRITONSERVER_Error* error = TRITONBACKEND_ModelSetConfig(model, 1, message);
  TRITONSERVER_MessageDelete(message);
  return error;
}

void finish(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Response* response = nullptr;
  TRITONBACKEND_ResponseNew(&response, request);
  TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, nullptr);
  TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL);
}

}  // namespace

extern "C" TRITONBACKEND_ISPEC const char* scripted_calls() { return calls.c_str(); }
extern "C" TRITONBACKEND_ISPEC void scripted_forget() { calls.clear(); }
/// Until as many calls have hung.
extern "C" TRITONBACKEND_ISPEC void scripted_await_hanging(int count) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [count] { return hanging >= count; });
}
extern "C" TRITONBACKEND_ISPEC void scripted_release() {
  std::lock_guard lock(mutex);
  is_released = true;
  changed.notify_all();
}
/// Until it was called.
extern "C" TRITONBACKEND_ISPEC void scripted_await(const char* call) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [call] { return calls.ends_with(call); });
}

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  record("Initialize");
  const char* name = "";
  TRITONBACKEND_BackendName(backend, &name);
  if (leaves_state(name)) TRITONBACKEND_BackendSetState(backend, &state);
  return act(name, "backend");
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  record("Finalize");
  const char* name = "";
  TRITONBACKEND_BackendName(backend, &name);
  return act(name, "finalize");
}

TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend* backend,
                                                      TRITONBACKEND_BackendAttribute* attributes) {
  record("GetBackendAttribute");
  TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(attributes, TRITONSERVER_INSTANCEGROUPKIND_CPU, 3,
                                                          nullptr, 0);
  TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(attributes, true);
  const char* name = "";
  TRITONBACKEND_BackendName(backend, &name);
  return act(name, "attributes");
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  record("ModelInitialize");
  TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, "scripted.cc", 1, "a model is initialised");
  const char* name = "";
  TRITONBACKEND_ModelName(model, &name);
  if (leaves_state(name)) TRITONBACKEND_ModelSetState(model, &state);
  if (std::strcmp(name, "completes") == 0) return complete(model, R"({"max_batch_size":5})");
  if (std::strcmp(name, "completes_wrongly") == 0) return complete(model, "no JSON");
  return act(name, "model");
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model*) {
  record("ModelFinalize");
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  record("ModelInstanceInitialize");
  const char* name = model_name(instance);
  if (leaves_state(name)) TRITONBACKEND_ModelInstanceSetState(instance, &state);
  return act(name, "instance");
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance*) {
  record("ModelInstanceFinalize");
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
  return act(model_name(instance), "ready");
}

#ifndef SCRIPTED_NO_EXECUTE
/// "half_execute": takes the first request and fails then.
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  const char* name = model_name(instance);
  const bool is_half = std::strcmp(name, "half_execute") == 0;
  if (TRITONSERVER_Error* error = act(name, "execute")) return error;
  for (uint32_t i = 0; i < (is_half ? 1 : request_count); ++i) finish(requests[i]);
  return is_half ? failure() : nullptr;
}
#endif
