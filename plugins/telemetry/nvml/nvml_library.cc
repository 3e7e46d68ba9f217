#include "telemetry/nvml/nvml_library.h"

#include <dlfcn.h>

namespace atl::telemetry {
namespace {

/// What stands for a function that this version of the library has not.
template <class Function>
struct Absent;
template <class... Parameters>
struct Absent<NvmlResult (*)(Parameters...)> {
  static NvmlResult call(Parameters...) { return NvmlResult::NOT_SUPPORTED; }
};

}  // namespace

Result<Nvml> open_nvml(const std::string& path) noexcept {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return unavailable("there is no NVML: ", why == nullptr ? path.c_str() : why);
  }
  Nvml nvml;
#define ATOLL_NVML_FIND(name, parameters) \
  nvml.name = reinterpret_cast<decltype(nvml.name)>(dlsym(library, #name));
  ATOLL_NVML_SYMBOLS(ATOLL_NVML_FIND)
#undef ATOLL_NVML_FIND
  if (nvml.nvmlInit_v2 == nullptr || nvml.nvmlShutdown == nullptr || nvml.nvmlDeviceGetUUID == nullptr)
    return unavailable("NVML cannot be used: ", path,
                       " is none, it lacks nvmlInit_v2, nvmlShutdown or nvmlDeviceGetUUID");
#define ATOLL_NVML_REPLACE(name, parameters) \
  if (nvml.name == nullptr) nvml.name = &Absent<decltype(nvml.name)>::call;
  ATOLL_NVML_SYMBOLS(ATOLL_NVML_REPLACE)
#undef ATOLL_NVML_REPLACE
  return nvml;
}

std::string nvml_result_text(NvmlResult result) {
  const std::string_view name = nvml_result_name(result);
  const auto number = static_cast<int32_t>(result);
  return name.empty() ? cat("error ", number) : cat("NVML_ERROR_", name, " (", number, ")");
}

}  // namespace atl::telemetry
