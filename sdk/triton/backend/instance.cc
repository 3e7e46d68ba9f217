#include "atoll/triton/backend.h"
#include "backend/memory_usage.h"
#include "objects.h"

using namespace atl::triton;

namespace {

TRITONSERVER_Error* out_of_range(const TRITONBACKEND_ModelInstance& instance, const char* what,
                                 uint32_t index, size_t count) noexcept {
  return invalid_argument("instance '", instance.name, "' has ", count, " ", what, "s, no ", what, " ",
                          index);
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance* instance,
                                                    const char** name) {
  if (any_null(instance, name)) return null_argument(__func__);
  *name = instance->name.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance* instance,
                                                    TRITONSERVER_InstanceGroupKind* kind) {
  if (any_null(instance, kind)) return null_argument(__func__);
  *kind = static_cast<TRITONSERVER_InstanceGroupKind>(instance->kind);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance* instance,
                                                        int32_t* device_id) {
  if (any_null(instance, device_id)) return null_argument(__func__);
  *device_id = instance->device_id;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceHostPolicy(TRITONBACKEND_ModelInstance* instance,
                                                          TRITONSERVER_Message** host_policy) {
  if (any_null(instance, host_policy)) return null_argument(__func__);
  *host_policy = instance->host_policy_message.of(instance->host_policy_json);
  return *host_policy != nullptr ? nullptr : out_of_memory();
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceIsPassive(TRITONBACKEND_ModelInstance* instance,
                                                         bool* is_passive) {
  if (any_null(instance, is_passive)) return null_argument(__func__);
  *is_passive = instance->passive;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceProfileCount(TRITONBACKEND_ModelInstance* instance,
                                                            uint32_t* count) {
  if (any_null(instance, count)) return null_argument(__func__);
  *count = static_cast<uint32_t>(instance->profiles.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceProfileName(TRITONBACKEND_ModelInstance* instance,
                                                           const uint32_t index, const char** profile_name) {
  if (any_null(instance, profile_name)) return null_argument(__func__);
  *profile_name = nullptr;
  if (index >= instance->profiles.size())
    return out_of_range(*instance, "profile", index, instance->profiles.size());
  *profile_name = instance->profiles[index].c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSecondaryDeviceCount(TRITONBACKEND_ModelInstance* instance,
                                                                    uint32_t* count) {
  if (any_null(instance, count)) return null_argument(__func__);
  *count = static_cast<uint32_t>(instance->secondary_devices.size());
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSecondaryDeviceProperties(
    TRITONBACKEND_ModelInstance* instance, uint32_t index, const char** kind, int64_t* id) {
  if (any_null(instance, kind, id)) return null_argument(__func__);
  *kind = nullptr;
  const auto& devices = instance->secondary_devices;
  if (index >= devices.size()) return out_of_range(*instance, "secondary device", index, devices.size());
  *kind = devices[index].first.c_str();
  *id = devices[index].second;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model) {
  if (any_null(instance, model)) return null_argument(__func__);
  *model = instance->model;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance, void** state) {
  if (any_null(instance, state)) return null_argument(__func__);
  *state = instance->state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance, void* state) {
  if (instance == nullptr) return null_argument(__func__);
  instance->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportMemoryUsage(TRITONBACKEND_ModelInstance* instance,
                                                                 TRITONSERVER_BufferAttributes** usage,
                                                                 uint32_t usage_size) {
  if (instance == nullptr) return null_argument(__func__);
  return report_memory(__func__, usage, usage_size, instance->memory_usage);
}
