/// The part of NVML, the GPUs' management library, that Atoll calls: types, numbers, and the table of functions.
///
/// The library is opened at run time, and nothing is linked to it. Unlike the CUDA driver's, a symbol of NVML keeps its
/// signature: a changed one gets another name ("_v2"). The names of functions are the library's, everything else is named
/// as in the rest of Atoll. A name that is not in the library is a null pointer in the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atl {

/// What loaders find it by.
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// name, number. The library's "NVML_ERROR_" is left out of the names.
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

enum class NvmlResult : int32_t {
#define ATOLL_NVML_VALUE(name, number) name = number,
  ATOLL_NVML_RESULTS(ATOLL_NVML_VALUE)
#undef ATOLL_NVML_VALUE
};

/// "GPU_IS_LOST"; empty: the number has no name here.
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

/// A GPU, or a part of one. The library's own.
using NvmlDevice = struct NvmlDeviceHandle*;

/// Percent of the time since the library's last sample, in which something was done.
struct NvmlUtilization {
  uint32_t gpu = 0;     ///< kernels ran
  uint32_t memory = 0;  ///< memory was read or written
};
static_assert(sizeof(NvmlUtilization) == 8);

/// Bytes.
struct NvmlMemory {
  uint32_t version = 40 | 2u << 24;  ///< in: which struct it is
  uint64_t total = 0;
  uint64_t reserved = 0;  ///< the driver's own
  uint64_t free = 0;
  uint64_t used = 0;
};
static_assert(sizeof(NvmlMemory) == 40 && offsetof(NvmlMemory, used) == 32);

inline constexpr uint32_t kNvmlUuidBytes = 96;  ///< room that is enough, with the NUL
inline constexpr uint32_t kNvmlMigEnabled = 1;

/// name, parameters. All return an NvmlResult, and may be called from any thread.
#define ATOLL_NVML_SYMBOLS(X)                                                              \
  X(nvmlInit_v2, ())                                                                       \
  X(nvmlShutdown, ())                                                                      \
  X(nvmlSystemGetDriverVersion, (char* version, uint32_t room_bytes))                      \
  X(nvmlDeviceGetCount_v2, (uint32_t * count))                                             \
  X(nvmlDeviceGetHandleByIndex_v2, (uint32_t index, NvmlDevice * device))                  \
  X(nvmlDeviceGetHandleByPciBusId_v2, (const char* pci_id, NvmlDevice* device))            \
  X(nvmlDeviceGetHandleByUUID, (const char* uuid, NvmlDevice* device))                     \
  X(nvmlDeviceGetUUID, (NvmlDevice device, char* uuid, uint32_t room_bytes))               \
  X(nvmlDeviceGetMigMode, (NvmlDevice device, uint32_t * current, uint32_t * after_reset)) \
  X(nvmlDeviceGetUtilizationRates, (NvmlDevice device, NvmlUtilization * rates))           \
  X(nvmlDeviceGetMemoryInfo_v2, (NvmlDevice device, NvmlMemory * memory))                  \
  /* milliwatts */                                                                         \
  X(nvmlDeviceGetPowerUsage, (NvmlDevice device, uint32_t * power))                        \
  X(nvmlDeviceGetPowerManagementLimit, (NvmlDevice device, uint32_t * power))              \
  /* millijoules since the driver was loaded */                                            \
  X(nvmlDeviceGetTotalEnergyConsumption, (NvmlDevice device, unsigned long long* energy))

/// Where the library has its functions.
struct Nvml {
#define ATOLL_NVML_FIELD(name, parameters) NvmlResult(*name) parameters = nullptr;
  ATOLL_NVML_SYMBOLS(ATOLL_NVML_FIELD)
#undef ATOLL_NVML_FIELD
};

}  // namespace atl
