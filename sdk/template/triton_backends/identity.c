/* A backend in C: output OUTPUT<n> is input INPUT<n>, of any type and shape. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "triton/core/tritonbackend.h"

#define RETURN_IF_ERROR(call)              \
  do {                                     \
    TRITONSERVER_Error* failure_ = (call); \
    if (failure_ != NULL) return failure_; \
  } while (0)

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Where this backend can work only. */
static TRITONSERVER_Error* expect_cpu(TRITONSERVER_MemoryType type) {
  if (type != TRITONSERVER_MEMORY_GPU) return NULL;
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "identity works on the CPU only");
}

/* An input may come in several buffers. */
static TRITONSERVER_Error* copy_input(TRITONBACKEND_Input* input, uint32_t buffers, char* to) {
  for (uint32_t i = 0; i < buffers; ++i) {
    const void* data;
    uint64_t size;
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    int64_t id = 0;
    RETURN_IF_ERROR(TRITONBACKEND_InputBuffer(input, i, &data, &size, &type, &id));
    RETURN_IF_ERROR(expect_cpu(type));
    if (size != 0) memcpy(to, data, size);
    to += size;
  }
  return NULL;
}

static TRITONSERVER_Error* add_output(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response,
                                      const char* name) {
  static const char kPrefix[] = "OUTPUT";
  if (strncmp(name, kPrefix, sizeof kPrefix - 1) != 0) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "identity has outputs OUTPUT<n> only");
  }
  char source[64];
  snprintf(source, sizeof source, "INPUT%s", name + sizeof kPrefix - 1);
  TRITONBACKEND_Input* input;
  RETURN_IF_ERROR(TRITONBACKEND_RequestInput(request, source, &input));
  TRITONSERVER_DataType datatype;
  const int64_t* shape;
  uint32_t dims, buffers;
  uint64_t size;
  RETURN_IF_ERROR(TRITONBACKEND_InputProperties(input, NULL, &datatype, &shape, &dims, &size, &buffers));
  TRITONBACKEND_Output* output;
  RETURN_IF_ERROR(TRITONBACKEND_ResponseOutput(response, &output, name, datatype, shape, dims));
  void* to;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  RETURN_IF_ERROR(TRITONBACKEND_OutputBuffer(output, &to, size, &type, &id));
  RETURN_IF_ERROR(expect_cpu(type));
  return copy_input(input, buffers, (char*)to);
}

/* The outputs that the client wants. */
static TRITONSERVER_Error* add_outputs(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
  uint32_t count;
  RETURN_IF_ERROR(TRITONBACKEND_RequestOutputCount(request, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char* name;
    RETURN_IF_ERROR(TRITONBACKEND_RequestOutputName(request, i, &name));
    RETURN_IF_ERROR(add_output(request, response, name));
  }
  return NULL;
}

/* Of the first input; a request of a model that does not batch counts as 1. */
static uint64_t batch_size_of(TRITONBACKEND_Request* request, bool batches) {
  if (!batches) return 1;
  TRITONBACKEND_Input* input;
  const int64_t* shape;
  uint32_t dims = 0;
  TRITONSERVER_Error* failure = TRITONBACKEND_RequestInputByIndex(request, 0, &input);
  if (failure == NULL) {
    failure = TRITONBACKEND_InputProperties(input, NULL, NULL, &shape, &dims, NULL, NULL);
  }
  TRITONSERVER_ErrorDelete(failure);
  return dims == 0 ? 1 : (uint64_t)shape[0];
}

/* Answers, counts and releases one request. What goes wrong is its answer. */
static void execute_one(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request) {
  const uint64_t begun = now_ns();
  TRITONBACKEND_Response* response;
  TRITONSERVER_Error* failure = TRITONBACKEND_ResponseNew(&response, request);
  if (failure == NULL) {
    failure = add_outputs(request, response);
    TRITONSERVER_ErrorDelete(
        TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure));
  }
  const uint64_t ended = now_ns();
  TRITONSERVER_ErrorDelete(TRITONBACKEND_ModelInstanceReportStatistics(instance, request, failure == NULL,
                                                                       begun, begun, ended, ended));
  TRITONSERVER_ErrorDelete(failure);
  TRITONSERVER_ErrorDelete(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

/* What is kept of a model: whether it batches. */
static char batching_model;

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* config;
  RETURN_IF_ERROR(TRITONBACKEND_ModelConfig(model, 1, &config));
  const char* json;
  size_t size;
  TRITONSERVER_Error* failure = TRITONSERVER_MessageSerializeToJson(config, &json, &size);
  bool batches = false;
  if (failure == NULL) {
    static const char kKey[] = "\"max_batch_size\":";
    const char* found = memmem(json, size, kKey, sizeof kKey - 1);
    batches = found != NULL && found[sizeof kKey - 1] != '0';
  }
  TRITONSERVER_ErrorDelete(TRITONSERVER_MessageDelete(config));
  return failure != NULL ? failure : TRITONBACKEND_ModelSetState(model, batches ? &batching_model : NULL);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  TRITONBACKEND_Model* model;
  void* state;
  RETURN_IF_ERROR(TRITONBACKEND_ModelInstanceModel(instance, &model));
  RETURN_IF_ERROR(TRITONBACKEND_ModelState(model, &state));
  const uint64_t begun = now_ns();
  uint64_t items = 0;
  for (uint32_t i = 0; i < request_count; ++i) items += batch_size_of(requests[i], state != NULL);
  for (uint32_t i = 0; i < request_count; ++i) execute_one(instance, requests[i]);
  const uint64_t ended = now_ns();
  return TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, items, begun, begun, ended, ended);
}
