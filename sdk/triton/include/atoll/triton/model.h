/// What a TRITONBACKEND_Model* points to. A plugin that hosts foreign code makes one for each model version
/// that such code is loaded for; it outlives every call into that code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/statistics.h"
#include "triton/core/tritonbackend.h"

namespace atl::triton {

/// What the host does for a model that its own library, which knows no JSON, cannot. [worker]
class ModelHost {
 public:
  /// TRITONBACKEND_ModelSetConfig: takes over what a backend may fill in (max_batch_size, inputs, outputs, scheduling if
  /// there is none, decoupled); TRITONBACKEND_Model::config_json is the result afterwards.
  /// Errors: INVALID_ARGUMENT it is no configuration; INTERNAL another choice of scheduling.
  virtual Status set_config(std::string_view json) noexcept = 0;

 protected:
  ~ModelHost() = default;
};

}  // namespace atl::triton

struct TRITONBACKEND_Model {
  std::string name;
  uint64_t version = 0;
  std::string directory;    ///< holds config.pbtxt
  std::string config_json;  ///< as atoll/proto/model_config_json.h writes it
  void* state = nullptr;    ///< the foreign code's own

  // --- of backends only ---
  TRITONBACKEND_Backend* backend = nullptr;
  bool auto_complete = false;              ///< the backend may complete the configuration
  atl::triton::ModelHost* host = nullptr;  ///< null: the configuration cannot be set (any more)
  TRITONSERVER_Server* server = nullptr;   ///< null: requests to other models are refused, with a reason
  std::vector<atl::MemoryUsage> memory_usage = {};  ///< as TRITONBACKEND_ModelReportMemoryUsage said
};
