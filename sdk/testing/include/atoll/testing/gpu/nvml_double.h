/// The test double of NVML, as a test sees it: `libnvidia-ml.so.1` under lib/atoll/testing of a build.
///
/// It is put before the real one by LD_LIBRARY_PATH, or opened by its path. It has the GPUs of the CUDA driver's double:
/// number, memory and name are said by the variables of cuda_double.h, uuids and PCI ids are the same, and
/// CUDA_VISIBLE_DEVICES hides none, as with the real library. The rest is said by these, one value a GPU by commas, the
/// last one goes on; all is read when nvmlInit_v2 is called for the first time:
///
/// | variable | default | what |
/// | --- | --- | --- |
/// | ATOLL_NVML_DOUBLE_UTILIZATION | 0 | percent |
/// | ATOLL_NVML_DOUBLE_MEMORY_USED | 0 | bytes; suffixes KiB, MiB, GiB |
/// | ATOLL_NVML_DOUBLE_POWER | 50000 | milliwatts |
/// | ATOLL_NVML_DOUBLE_POWER_LIMIT | 350000 | milliwatts |
/// | ATOLL_NVML_DOUBLE_ENERGY | 1000000 | millijoules since the driver was loaded |
/// | ATOLL_NVML_DOUBLE_MIG | 0 | 1: the GPU is divided, and its only part has half of its memory |
/// | ATOLL_NVML_DOUBLE_LOST | 0 | what every call about the GPU returns; 0: what it should |
/// | ATOLL_NVML_DOUBLE_INIT | 0 | what nvmlInit_v2 returns; one value |
/// | ATOLL_NVML_DOUBLE_FAIL | | `FUNCTION:NTH:CODE` by commas, as fail_call() |
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "atoll/gpu/nvml.h"

namespace atl::test {

/// What a GPU shows, in the order and the units of the variables.
enum class NvmlDoubleValue : uint32_t {
  kUtilization = 0,
  kMemoryUsed = 1,
  kPower = 2,
  kPowerLimit = 3,
  kEnergy = 4,
  kMig = 5,
  kLost = 6
};
inline constexpr uint32_t kNvmlDoubleValues = 7;

/// How a test scripts the double. All functions may be called from any thread.
struct NvmlDouble {
  uint32_t size_bytes;

  /// The nth call (from 1, the next one is the first) of the function returns the code and does nothing; nvmlShutdown does
  /// it nevertheless. \param function  "nvmlDeviceGetUUID"; "*": of all together \param nth  0: every call
  void (*fail_call)(const char* function, uint64_t nth, NvmlResult code);
  void (*end_failures)();
  /// For a GPU that there is, after nvmlInit_v2.
  void (*set)(uint32_t device, NvmlDoubleValue which, uint64_t value);
  /// While true, calls wait before they do anything, as with a driver that hangs.
  void (*hold)(bool holds);

  /// Calls of the function so far, those that wait too; "*": of all
  uint64_t (*calls)(const char* function);
  /// One line for each kind of call that was made without nvmlInit_v2 before it, or with a handle that is none, and one if
  /// the library was not shut down as often as it was initialised. \return bytes of all of it
  size_t (*report)(char* text, size_t room);
  /// As if the process had just begun. No other thread may use the double.
  void (*start_over)();
};

/// The double's only symbol beside the library's.
inline constexpr const char* kNvmlDoubleSymbol = "atoll_nvml_double";
using NvmlDoubleFunction = const NvmlDouble* (*)();

/// The double that this process has. \param path  "": the one that is opened already, or is found as the library is
/// \return null: there is no library, or it is a real one
inline const NvmlDouble* nvml_double(const std::string& path = {}) {
  void* library = dlopen(path.empty() ? kNvmlLibrary : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto function = reinterpret_cast<NvmlDoubleFunction>(dlsym(library, kNvmlDoubleSymbol));
  return function == nullptr ? nullptr : function();
}

/// report() as a string.
inline std::string report_of(const NvmlDouble& library) {
  std::string text(library.report(nullptr, 0), '\0');
  library.report(text.data(), text.size());
  return text;
}

}  // namespace atl::test
