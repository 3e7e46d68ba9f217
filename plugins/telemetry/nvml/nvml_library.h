/// NVML, opened at run time.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "atoll/gpu/nvml.h"

namespace atl::telemetry {

/// The library stays mapped to the end of the process. Nothing is initialised yet.
/// \param path  a file, or a name that the loader looks for
/// Errors: UNAVAILABLE it is not there, or lacks what nothing works without.
Result<Nvml> open_nvml(const std::string& path) noexcept;

/// "NVML_ERROR_GPU_IS_LOST (15)"
std::string nvml_result_text(NvmlResult result);

}  // namespace atl::telemetry
