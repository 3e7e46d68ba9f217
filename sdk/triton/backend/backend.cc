#include "atoll/triton/backend.h"

#include <limits>

#include "objects.h"

using atl::InstanceKind;
using namespace atl::triton;

TRITONSERVER_Error* TRITONBACKEND_BackendName(TRITONBACKEND_Backend* backend, const char** name) {
  if (any_null(backend, name)) return null_argument(__func__);
  *name = backend->name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** backend_config) {
  if (any_null(backend, backend_config)) return null_argument(__func__);
  *backend_config = backend->config_message.of(backend->config_json);
  return *backend_config != nullptr ? nullptr : out_of_memory();
}

TRITONSERVER_Error* TRITONBACKEND_BackendExecutionPolicy(TRITONBACKEND_Backend* backend,
                                                         TRITONBACKEND_ExecutionPolicy* policy) {
  if (any_null(backend, policy)) return null_argument(__func__);
  *policy = backend->policy;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendSetExecutionPolicy(TRITONBACKEND_Backend* backend,
                                                            TRITONBACKEND_ExecutionPolicy policy) {
  if (backend == nullptr) return null_argument(__func__);
  if (policy != TRITONBACKEND_EXECUTION_BLOCKING && policy != TRITONBACKEND_EXECUTION_DEVICE_BLOCKING)
    return invalid_argument("execution policy ", static_cast<int>(policy), " is unknown");
  if (!backend->is_initializing) {
    return invalid_argument("the execution policy of backend '", backend->name,
                            "' can only be set by TRITONBACKEND_Initialize");
  }
  backend->policy = policy;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendArtifacts(TRITONBACKEND_Backend* backend,
                                                   TRITONBACKEND_ArtifactType* artifact_type,
                                                   const char** location) {
  if (any_null(backend, artifact_type, location)) return null_argument(__func__);
  *artifact_type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = backend->directory.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendMemoryManager(TRITONBACKEND_Backend* backend,
                                                       TRITONBACKEND_MemoryManager** manager) {
  if (any_null(backend, manager)) return null_argument(__func__);
  *manager = &backend->memory;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendState(TRITONBACKEND_Backend* backend, void** state) {
  if (any_null(backend, state)) return null_argument(__func__);
  *state = backend->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend* backend, void* state) {
  if (backend == nullptr) return null_argument(__func__);
  backend->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute* backend_attributes, const TRITONSERVER_InstanceGroupKind kind,
    const uint64_t count, const uint64_t* device_ids, const uint64_t id_count) {
  if (backend_attributes == nullptr || (device_ids == nullptr && id_count != 0))
    return null_argument(__func__);
  if (kind < TRITONSERVER_INSTANCEGROUPKIND_AUTO || kind > TRITONSERVER_INSTANCEGROUPKIND_MODEL)
    return invalid_argument("instance group kind ", static_cast<int>(kind), " is unknown");
  if (count > std::numeric_limits<uint32_t>::max())
    return invalid_argument("an instance group of ", count, " instances is too large");
  return guarded([&]() -> TRITONSERVER_Error* {
    atl::PreferredGroup group;
    group.kind = static_cast<InstanceKind>(kind);
    group.count = static_cast<uint32_t>(count);
    for (uint64_t i = 0; i < id_count; ++i) {
      if (device_ids[i] > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
        return invalid_argument("there is no device ", device_ids[i]);
      group.gpus.push_back(static_cast<int32_t>(device_ids[i]));
    }
    backend_attributes->traits.preferred_groups.push_back(std::move(group));
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(
    TRITONBACKEND_BackendAttribute* backend_attributes, bool enabled) {
  if (backend_attributes == nullptr) return null_argument(__func__);
  backend_attributes->traits.parallel_instances = enabled;
  return nullptr;
}
