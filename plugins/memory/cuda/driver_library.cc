#include "memory/cuda/driver_library.h"

#include <dlfcn.h>

#include <string_view>

namespace atl::memory {
namespace {

enum class Need : bool { kRequired, kOptional };

/// What the user can do about it, where that is known.
std::string_view advice(CudaResult result) noexcept {
  switch (result) {
    case CudaResult::NO_DEVICE:
      return ": it finds no GPU";
    case CudaResult::STUB_LIBRARY:
      return ": the library is one to link to, not a driver";
    case CudaResult::SYSTEM_DRIVER_MISMATCH:
      return ": the library and the kernel's driver are of different versions";
    case CudaResult::SYSTEM_NOT_READY:
      return ": a service that the GPUs need does not run yet";
    case CudaResult::DEVICE_UNAVAILABLE:
      return ": another process has the GPU for itself";
    case CudaResult::NOT_INITIALIZED:
      return ": it was started before this process was forked";
    default:
      return "";
  }
}

Status can_not_start(std::string_view call, CudaResult result) {
  return unavailable("the CUDA driver cannot be used: ", call, " gave ", result_text(result), advice(result));
}

Status too_old(int32_t version) {
  return unavailable("the CUDA driver is of version ", version_text(version), ", expected ",
                     version_text(kCudaOldestDriver), " at least");
}

/// Errors: UNAVAILABLE it is required and not there.
template <class Function>
Status find(const DriverEntry& entry, const char* name, int32_t version, Need need,
            Function* function) noexcept {
  void* found = nullptr;
  CudaSymbolState state = CudaSymbolState::kFound;
  const CudaResult result = entry.symbol(name, &found, version, kCudaLegacyStream, &state);
  // One that is too old for the version asked for succeeds, and finds nothing; older ones still say NOT_FOUND.
  if (result != CudaResult::SUCCESS && result != CudaResult::NOT_FOUND) return can_not_start(name, result);
  if (result != CudaResult::SUCCESS || state != CudaSymbolState::kFound) found = nullptr;
  if (found == nullptr && need == Need::kRequired) {
    return unavailable("the CUDA driver cannot be used: it has no ", name, " of version ",
                       version_text(version));
  }
  *function = reinterpret_cast<Function>(found);
  return {};
}

}  // namespace

std::string result_text(CudaResult result) {
  const std::string_view name = cuda_result_name(result);
  const auto number = static_cast<int32_t>(result);
  return name.empty() ? cat("error ", number) : cat("CUDA_ERROR_", name, " (", number, ")");
}

std::string version_text(int32_t version) { return cat(version / 1000, ".", version % 1000 / 10); }

Result<DriverEntry> open_driver(const std::string& path) noexcept {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return unavailable("there is no CUDA driver: ", why == nullptr ? path.c_str() : why);
  }
  DriverEntry entry;
  entry.init = reinterpret_cast<CudaInitFunction>(dlsym(library, kCudaInitSymbol));
  entry.symbol = reinterpret_cast<CudaSymbolFunction>(dlsym(library, kCudaSymbolSymbol));
  if (entry.init == nullptr || entry.symbol == nullptr) {
    return unavailable("the CUDA driver cannot be used: ", path, " has no ",
                       entry.init == nullptr ? kCudaInitSymbol : kCudaSymbolSymbol,
                       "; expected a driver for CUDA ", version_text(kCudaOldestDriver), " at least");
  }
  return entry;
}

Result<BoundDriver> bind_driver(const DriverEntry& entry) noexcept {
  if (const CudaResult result = entry.init(0); result != CudaResult::SUCCESS)
    return can_not_start("cuInit", result);
  BoundDriver driver;
  CudaDriver& functions = driver.functions;
  // The version first: what an old driver lacks is a consequence.
  ATOLL_RETURN_IF_ERROR(
      find(entry, "cuDriverGetVersion", 2020, Need::kRequired, &functions.cuDriverGetVersion));
  const CudaResult result = functions.cuDriverGetVersion(&driver.version);
  if (result != CudaResult::SUCCESS) return can_not_start("cuDriverGetVersion", result);
  if (driver.version < kCudaOldestDriver) return too_old(driver.version);
#define ATOLL_CUDA_FIND(name, version, need, parameters) \
  ATOLL_RETURN_IF_ERROR(find(entry, #name, version, Need::need, &functions.name));
  ATOLL_CUDA_SYMBOLS(ATOLL_CUDA_FIND)
#undef ATOLL_CUDA_FIND
  return driver;
}

}  // namespace atl::memory
