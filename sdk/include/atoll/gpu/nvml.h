/// The part of NVML, NVIDIA's library for the management of GPUs, that Atoll calls: types, numbers,
/// and the table of functions. telemetry/nvml reads by it what the metrics nv_gpu_* and
/// nv_energy_consumption show.
///
///     void* library = dlopen(kNvmlLibrary, RTLD_NOW | RTLD_LOCAL);
///     Nvml nvml;
///     #define FIND(name, parameters) nvml.name = reinterpret_cast<decltype(nvml.name)>(dlsym(library, #name));
///     ATOLL_NVML_SYMBOLS(FIND)
///     ...
///     NvmlMemory memory;  // its version is set already
///     const NvmlResult result = nvml.nvmlDeviceGetMemoryInfo_v2(device, &memory);
///     if (result == NvmlResult::SUCCESS) show(memory.used, memory.total);
///
/// The library is opened at run time, and nothing is linked to it: it comes with NVIDIA's driver,
/// and a machine without GPUs has none. Unlike the CUDA driver, NVML keeps the signature of a
/// symbol for ever; a changed function gets another name ("_v2"). So dlsym() is enough to find
/// them. The names of functions are the library's; everything else is named as in the rest of
/// Atoll.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atl {

/// The name by which dlopen() finds the library. The driver installs it.
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// The results of all functions (nvmlReturn_t): name, number. The library's prefix "NVML_ERROR_" is
/// left out of the names.
///
/// What telemetry/nvml makes of them: NOT_SUPPORTED and NO_PERMISSION mean that this GPU or this
/// user has no such value, which is no failure. GPU_IS_LOST and RESET_REQUIRED mean that the GPU
/// has no values at all until somebody repairs it. Every other failure leaves out one value, and is
/// logged once.
#define ATOLL_NVML_RESULTS(X)      \
  X(SUCCESS, 0)                    \
  X(UNINITIALIZED, 1)              \
  X(INVALID_ARGUMENT, 2)           \
  X(NOT_SUPPORTED, 3)              \
  X(NO_PERMISSION, 4)              \
  X(NOT_FOUND, 6)                  \
  X(INSUFFICIENT_SIZE, 7)          \
  X(INSUFFICIENT_POWER, 8)         \
  X(DRIVER_NOT_LOADED, 9)          \
  X(TIMEOUT, 10)                   \
  X(IRQ_ISSUE, 11)                 \
  X(LIBRARY_NOT_FOUND, 12)         \
  X(FUNCTION_NOT_FOUND, 13)        \
  X(CORRUPTED_INFOROM, 14)         \
  X(GPU_IS_LOST, 15)               \
  X(RESET_REQUIRED, 16)            \
  X(OPERATING_SYSTEM, 17)          \
  X(LIB_RM_VERSION_MISMATCH, 18)   \
  X(IN_USE, 19)                    \
  X(MEMORY, 20)                    \
  X(NO_DATA, 21)                   \
  X(ARGUMENT_VERSION_MISMATCH, 25) \
  X(NOT_READY, 27)                 \
  X(GPU_NOT_FOUND, 28)             \
  X(UNKNOWN, 999)

/// What a function returned. A newer library may return numbers that have no name here.
enum class NvmlResult : int32_t {
#define ATOLL_NVML_VALUE(name, number) name = number,
  ATOLL_NVML_RESULTS(ATOLL_NVML_VALUE)
#undef ATOLL_NVML_VALUE
};

/// "GPU_IS_LOST"; empty if the number has no name here.
constexpr std::string_view nvml_result_name(NvmlResult result) noexcept {
  switch (result) {
#define ATOLL_NVML_NAME(name, number) \
  case NvmlResult::name:              \
    return #name;
    ATOLL_NVML_RESULTS(ATOLL_NVML_NAME)
#undef ATOLL_NVML_NAME
  }
  return {};
}

/// A GPU, or a part of a GPU (MIG). The handle is the library's, valid from nvmlInit_v2 to
/// nvmlShutdown.
using NvmlDevice = struct NvmlDeviceHandle*;

/// nvmlUtilization_t: of the time since the library's last sample, the percentage in which
/// something was done, 0 to 100.
struct NvmlUtilization {
  /// At least one kernel ran.
  uint32_t gpu = 0;
  /// Memory of the device was read or written.
  uint32_t memory = 0;
};
static_assert(sizeof(NvmlUtilization) == 8);

/// nvmlMemory_v2_t: memory of the device, in bytes.
struct NvmlMemory {
  /// Set by the caller: the size and the version of this struct, by which the library knows its
  /// form.
  uint32_t version = 40 | 2u << 24;
  /// All memory of the device.
  uint64_t total = 0;
  /// What the driver and the firmware keep for themselves.
  uint64_t reserved = 0;
  /// What can still be allocated.
  uint64_t free = 0;
  /// What processes have allocated, of whatever user.
  uint64_t used = 0;
};
static_assert(sizeof(NvmlMemory) == 40 && offsetof(NvmlMemory, used) == 32);

/// Room that is enough for a UUID or a version, with the NUL (NVML_DEVICE_UUID_V2_BUFFER_SIZE).
inline constexpr uint32_t kNvmlUuidBytes = 96;
/// A mode of nvmlDeviceGetMigMode: the GPU is divided into parts.
inline constexpr uint32_t kNvmlMigEnabled = 1;

/// The functions: name, parameters. All return an NvmlResult, and may be called from any thread.
/// They ask the driver, and telemetry/nvml calls them on a thread of its own, so no request waits.
#define ATOLL_NVML_SYMBOLS(X)                                                                  \
  /* the library: nvmlInit_v2 comes before all other functions and nvmlShutdown after them; */ \
  /* both are counted */                                                                       \
  X(nvmlInit_v2, ())                                                                           \
  X(nvmlShutdown, ())                                                                          \
  X(nvmlSystemGetDriverVersion, (char* version, uint32_t room_bytes))                          \
  /* GPUs: telemetry/nvml asks for those of "atoll.cuda/1" by their PCI addresses, without */  \
  /* that service for all by their index, and where MIG is enabled for the part of a GPU by */ \
  /* its UUID */                                                                               \
  X(nvmlDeviceGetCount_v2, (uint32_t * count))                                                 \
  X(nvmlDeviceGetHandleByIndex_v2, (uint32_t index, NvmlDevice * device))                      \
  X(nvmlDeviceGetHandleByPciBusId_v2, (const char* pci_id, NvmlDevice* device))                \
  X(nvmlDeviceGetHandleByUUID, (const char* uuid, NvmlDevice* device))                         \
  /* what a GPU is: its UUID is the label gpu_uuid of all metrics */                           \
  X(nvmlDeviceGetUUID, (NvmlDevice device, char* uuid, uint32_t room_bytes))                   \
  X(nvmlDeviceGetMigMode, (NvmlDevice device, uint32_t * current, uint32_t * after_reset))     \
  /* what a GPU does now: nv_gpu_utilization, nv_gpu_memory_total_bytes, */                    \
  /* nv_gpu_memory_used_bytes */                                                               \
  X(nvmlDeviceGetUtilizationRates, (NvmlDevice device, NvmlUtilization * rates))               \
  X(nvmlDeviceGetMemoryInfo_v2, (NvmlDevice device, NvmlMemory * memory))                      \
  /* milliwatts */                                                                             \
  X(nvmlDeviceGetPowerUsage, (NvmlDevice device, uint32_t * power))                            \
  X(nvmlDeviceGetPowerManagementLimit, (NvmlDevice device, uint32_t * power))                  \
  /* millijoules since the driver was loaded */                                                \
  X(nvmlDeviceGetTotalEnergyConsumption, (NvmlDevice device, unsigned long long* energy))

/// The functions by their names. A name that the library does not have is a null pointer;
/// telemetry/nvml puts a function in its place that returns NOT_SUPPORTED.
struct Nvml {
#define ATOLL_NVML_FIELD(name, parameters) NvmlResult(*name) parameters = nullptr;
  ATOLL_NVML_SYMBOLS(ATOLL_NVML_FIELD)
#undef ATOLL_NVML_FIELD
};

}  // namespace atl
