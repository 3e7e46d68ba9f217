/// What a TRITONBACKEND_Model* points to. A plugin that hosts foreign code makes one for each model version
/// that such code is loaded for; it outlives every call into that code.
#pragma once

#include <cstdint>
#include <string>

#include "triton/core/tritonbackend.h"

struct TRITONBACKEND_Model {
  std::string name;
  uint64_t version = 0;
  std::string directory;    ///< holds config.pbtxt
  std::string config_json;  ///< as atoll/proto/model_config_json.h writes it
  void* state = nullptr;    ///< the foreign code's own
};
