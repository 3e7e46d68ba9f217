#include <algorithm>
#include <string_view>

#include "atoll/triton/server_options.h"
#include "server/server_options_internal.h"

using namespace atl::triton;

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit(
    TRITONSERVER_ServerOptions* options, const TRITONSERVER_InstanceGroupKind kind, const int device_id,
    const double fraction) {
  if (options == nullptr) return null_argument(__func__);
  if (kind != TRITONSERVER_INSTANCEGROUPKIND_GPU) {
    return invalid_argument("loads are limited on devices of kind ",
                            TRITONSERVER_InstanceGroupKindString(kind), ", expected GPU");
  }
  if (device_id < 0) return invalid_argument("found device ", device_id, ", expected 0 or more");
  if (!(fraction >= 0 && fraction <= 1)) {
    return invalid_argument("found the part ", fraction, " of a device's memory, expected 0..1");
  }
  return stored([&] { options->gpu_load_limits[device_id] = fraction; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetRateLimiterMode(TRITONSERVER_ServerOptions* options,
                                                                 TRITONSERVER_RateLimitMode mode) {
  if (options == nullptr) return null_argument(__func__);
  if (mode != TRITONSERVER_RATE_LIMIT_OFF && mode != TRITONSERVER_RATE_LIMIT_EXEC_COUNT) {
    return invalid_argument("rate limit mode ", static_cast<int>(mode), " is unknown");
  }
  options->rate_limit_mode = mode;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsAddRateLimiterResource(TRITONSERVER_ServerOptions* options,
                                                                     const char* resource_name,
                                                                     const size_t resource_count,
                                                                     const int device) {
  if (any_null(options, resource_name)) return null_argument(__func__);
  if (device < -1) return invalid_argument("found device ", device, ", expected -1 or more");
  return stored([&] {
    const auto [found, is_new] = options->resources[device].try_emplace(resource_name, resource_count);
    if (!is_new) found->second = std::min<uint64_t>(found->second, resource_count);
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize(TRITONSERVER_ServerOptions* options,
                                                                          uint64_t size) {
  if (options == nullptr) return null_argument(__func__);
  options->pinned_pool_bytes = size;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize(TRITONSERVER_ServerOptions* options,
                                                                        int gpu_device, uint64_t size) {
  if (options == nullptr) return null_argument(__func__);
  if (gpu_device < 0) return invalid_argument("found device ", gpu_device, ", expected 0 or more");
  return stored([&] { options->cuda_pool_bytes[gpu_device] = size; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize(TRITONSERVER_ServerOptions* options,
                                                                        int gpu_device,
                                                                        size_t cuda_virtual_address_size) {
  if (options == nullptr) return null_argument(__func__);
  if (gpu_device < 0) return invalid_argument("found device ", gpu_device, ", expected 0 or more");
  return stored([&] { options->cuda_virtual_space_bytes[gpu_device] = cuda_virtual_address_size; });
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability(
    TRITONSERVER_ServerOptions* options, double cc) {
  if (options == nullptr) return null_argument(__func__);
  options->min_compute_capability = cc;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetEnablePeerAccess(TRITONSERVER_ServerOptions* options,
                                                                  bool enable_peer_access) {
  if (options == nullptr) return null_argument(__func__);
  options->peer_access = enable_peer_access;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetBufferManagerThreadCount(TRITONSERVER_ServerOptions* options,
                                                                          unsigned int thread_count) {
  if (options == nullptr) return null_argument(__func__);
  options->buffer_threads = thread_count;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetHostPolicy(TRITONSERVER_ServerOptions* options,
                                                            const char* policy_name, const char* setting,
                                                            const char* value) {
  if (any_null(options, policy_name, setting, value)) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    if (setting != std::string_view("numa-node") && setting != std::string_view("cpu-cores")) {
      return new_error(TRITONSERVER_ERROR_UNSUPPORTED, atl::cat("a host policy has no setting '", setting,
                                                                "', only 'numa-node' and 'cpu-cores'"));
    }
    options->host_policies[policy_name][setting] = value;
    return nullptr;
  });
}
