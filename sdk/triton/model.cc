#include "atoll/triton/model.h"

#include "error.h"
#include "message.h"

using namespace atl::triton;

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
  *model_config = nullptr;
  if (config_version != 1) {
    return invalid_argument("model configuration version ", config_version,
                            " not supported, supported versions are: 1");
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    *model_config = new TRITONSERVER_Message{model->config_json};
    return nullptr;
  });
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
