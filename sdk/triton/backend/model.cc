#include "atoll/triton/model.h"

#include "backend/memory_usage.h"
#include "error.h"
#include "message.h"

using namespace atl::triton;

namespace {

TRITONSERVER_Error* unknown_config_version(uint32_t version) noexcept {
  return invalid_argument("model configuration version ", version,
                          " not supported, supported versions are: 1");
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model* model, const char** name) {
  if (any_null(model, name)) return null_argument(__func__);
  *name = model->name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model* model, uint64_t* version) {
  if (any_null(model, version)) return null_argument(__func__);
  *version = model->version;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model,
                                                  TRITONBACKEND_ArtifactType* artifact_type,
                                                  const char** location) {
  if (any_null(model, artifact_type, location)) return null_argument(__func__);
  *artifact_type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->directory.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, const uint32_t config_version,
                                              TRITONSERVER_Message** model_config) {
  if (any_null(model, model_config)) return null_argument(__func__);
  return give_config(model->config_json, config_version, model_config);
}

TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model,
                                                          bool* auto_complete_config) {
  if (any_null(model, auto_complete_config)) return null_argument(__func__);
  *auto_complete_config = model->auto_complete;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, const uint32_t config_version,
                                                 TRITONSERVER_Message* model_config) {
  if (any_null(model, model_config)) return null_argument(__func__);
  if (config_version != 1) return unknown_config_version(config_version);
  if (model->host == nullptr) {
    return invalid_argument("the configuration of model '", model->name,
                            "' can only be set by TRITONBACKEND_ModelInitialize");
  }
  const atl::Status status = model->host->set_config(model_config->json);
  return status.ok() ? nullptr : new_error(status);
}

TRITONSERVER_Error* TRITONBACKEND_ModelServer(TRITONBACKEND_Model* model, TRITONSERVER_Server** server) {
  if (any_null(model, server)) return null_argument(__func__);
  *server = model->server;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelBackend(TRITONBACKEND_Model* model, TRITONBACKEND_Backend** backend) {
  if (any_null(model, backend)) return null_argument(__func__);
  *backend = model->backend;
  return *backend != nullptr ? nullptr
                             : invalid_argument("model '", model->name, "' is not shown to a backend");
}

TRITONSERVER_Error* TRITONBACKEND_ModelReportMemoryUsage(TRITONBACKEND_Model* model,
                                                         TRITONSERVER_BufferAttributes** usage,
                                                         uint32_t usage_size) {
  if (model == nullptr) return null_argument(__func__);
  return report_memory(__func__, usage, usage_size, model->memory_usage);
}

TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) {
  if (any_null(model, state)) return null_argument(__func__);
  *state = model->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) {
  if (model == nullptr) return null_argument(__func__);
  model->state = state;
  return nullptr;
}
