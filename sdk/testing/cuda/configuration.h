/// What the double pretends to be, as the environment says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/gpu/cuda_driver.h"

namespace atl::cuda_double {

struct DeviceConfiguration {
  std::string name;
  int32_t major = 9;
  int32_t minor = 0;
  uint64_t memory_bytes = 0;
  CudaComputeMode compute_mode = CudaComputeMode::kDefault;
  bool taken = false;  ///< by another process
  CudaUuid uuid = {};
  std::string pci_id;  ///< "0000:01:00.0"
};

/// A failure of the nth call of a function, or of the nth operation of a device.
struct PlannedFailure {
  std::string target;  ///< function or number of the device
  uint64_t nth = 0;
  CudaResult code = CudaResult::SUCCESS;
};

struct Configuration {
  std::vector<DeviceConfiguration> devices;  ///< those that are visible
  int32_t driver_version = 13000;
  CudaResult init = CudaResult::SUCCESS;
  bool stepped = false;
  std::vector<PlannedFailure> calls;
  std::vector<PlannedFailure> operations;
  uint64_t hang_event = 0;
  uint64_t slow_copy_ns = 0;
  std::vector<std::string> kernels;  ///< shared objects
  std::string report;
};

/// Those that are in the machine, visible or not. Ends the process where a value is none that the variable may have.
std::vector<DeviceConfiguration> all_devices();

/// "GPU-8f1c0e5d-…"
std::string uuid_text(const CudaUuid& uuid);

/// Ends the process as all_devices() does.
Configuration read_configuration();

}  // namespace atl::cuda_double
