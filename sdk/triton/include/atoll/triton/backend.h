/// What a backend made for Triton is shown: the objects behind TRITONBACKEND_Backend*, _Model*, _ModelInstance*.
/// The plugin that hosts foreign code makes them, fills in what is public and keeps each longer than any call into
/// that code that gets it. Handles that foreign code makes itself (responses, factories, states) are the
/// library's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/backend/backend.h"
#include "atoll/memory/memory.h"
#include "atoll/triton/lent_message.h"
#include "atoll/triton/model.h"
#include "triton/core/tritonbackend.h"

namespace atl::triton {

/// Where memory for foreign code comes from. [any]
class MemoryManager {
 public:
  /// Errors: UNIMPLEMENTED there is never memory of that kind; UNAVAILABLE not now.
  virtual Result<void*> allocate(MemoryKind kind, int64_t device_id, uint64_t size_bytes) noexcept = 0;
  /// Errors: INVALID_ARGUMENT it was not allocated so.
  virtual Status free(void* data, MemoryKind kind, int64_t device_id) noexcept = 0;

 protected:
  ~MemoryManager() = default;
};

}  // namespace atl::triton

struct TRITONBACKEND_MemoryManager {
  atl::triton::MemoryManager* memory = nullptr;
};

struct TRITONBACKEND_BackendAttribute {
  atl::BackendTraits traits;  ///< filled in by TRITONBACKEND_GetBackendAttribute
};

struct TRITONBACKEND_Backend {
  std::string name;         ///< of the configurations' `backend`
  std::string directory;    ///< holds the shared object
  std::string config_json;  ///< {"cmdline":{"<setting>":"<value>",...}}
  TRITONBACKEND_ExecutionPolicy policy = TRITONBACKEND_EXECUTION_BLOCKING;
  bool is_initializing = false;  ///< inside TRITONBACKEND_Initialize, where the policy may be set
  TRITONBACKEND_MemoryManager memory;
  void* state = nullptr;                    ///< the foreign code's own
  atl::triton::LentMessage config_message;  ///< of config_json as it is when it is first asked for
};

struct TRITONBACKEND_ModelInstance {
  std::string name;
  atl::InstanceKind kind = atl::InstanceKind::kCpu;
  int32_t device_id = 0;
  bool passive = false;
  std::string host_policy_json;  ///< {"<policy>":{"numa-node":"..","cpu-cores":".."}}
  std::vector<std::string> profiles;
  std::vector<std::pair<std::string, int64_t>> secondary_devices;
  TRITONBACKEND_Model* model = nullptr;
  atl::InferenceReporter* reporter = nullptr;    ///< null: nothing is counted
  std::vector<atl::MemoryUsage> memory_usage;    ///< as TRITONBACKEND_ModelInstanceReportMemoryUsage said
  void* state = nullptr;                         ///< the foreign code's own
  atl::triton::LentMessage host_policy_message;  ///< of host_policy_json as it is when it is first asked for
};
