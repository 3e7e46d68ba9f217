/// The CUDA driver's library, opened at run time.
#pragma once

#include <string>

#include "atoll/core/status.h"
#include "atoll/gpu/cuda_driver.h"

namespace atl::memory {

/// What is found in the library by name.
struct DriverEntry {
  CudaInitFunction init = nullptr;
  CudaSymbolFunction symbol = nullptr;
};

/// A driver that was started.
struct BoundDriver {
  CudaDriver functions;
  int32_t version = 0;  ///< 1000 · major + 10 · minor
};

/// The library stays mapped to the end of the process: threads of its own run in it.
/// \param path  a file, or a name that the loader looks for
/// Errors: UNAVAILABLE it is not there, or is no driver that is new enough.
Result<DriverEntry> open_driver(const std::string& path) noexcept;

/// Starts the driver and finds its functions. Errors: UNAVAILABLE it cannot serve, and why, in one line.
Result<BoundDriver> bind_driver(const DriverEntry& entry) noexcept;

/// "CUDA_ERROR_OUT_OF_MEMORY (2)"
std::string result_text(CudaResult result);

/// "12.9"
std::string version_text(int32_t version);

}  // namespace atl::memory
