/// How full a GPU may be for models to be loaded on it.
#pragma once

#include <map>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/host.h"
#include "atoll/core/status.h"

namespace atl::models {

/// Parts of a GPU's memory, 0 to 1, by ordinal. A GPU that is not here may be full.
using GpuLoadLimits = std::map<int32_t, double>;

/// From "<gpu>" = "<fraction>". Errors: INVALID_ARGUMENT.
Result<GpuLoadLimits> read_gpu_load_limits(const std::map<std::string, std::string>& settings);

/// Whether an instance that has just been made may stay: no more of its GPU is in use, by whomever, than the limit says.
/// How much was found is told in the log. Errors: UNAVAILABLE more is in use; those of Memory::device_usage(), NOT_FOUND
/// no plugin tells it. [worker]
Status check_gpu_load_limit(Host& host, const GpuLoadLimits& limits, const InstanceSpec& spec) noexcept;

}  // namespace atl::models
