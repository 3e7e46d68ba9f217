#include "configuration.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "environment.h"

namespace atl::cuda_double {
namespace {

/// A uuid that every process has for the device: GPUs of the double are the same ones in all of them.
CudaUuid uuid_of(size_t device) {
  CudaUuid uuid = {};
  std::memcpy(uuid.bytes, "ATOLL-DOUBLE", 12);
  uuid.bytes[0] = static_cast<unsigned char>(0xa0 + device);
  uuid.bytes[15] = static_cast<unsigned char>(device);
  return uuid;
}

}  // namespace

std::string uuid_text(const CudaUuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

std::vector<DeviceConfiguration> all_devices() {
  const PerDevice capability("ATOLL_CUDA_DOUBLE_COMPUTE_CAPABILITY", "9.0");
  const PerDevice memory("ATOLL_CUDA_DOUBLE_MEMORY", "16GiB");
  const PerDevice mode("ATOLL_CUDA_DOUBLE_COMPUTE_MODE", "0");
  const PerDevice taken("ATOLL_CUDA_DOUBLE_TAKEN", "0");
  const PerDevice name("ATOLL_CUDA_DOUBLE_NAME", "Atoll Test GPU");
  std::vector<DeviceConfiguration> devices(number("ATOLL_CUDA_DOUBLE_DEVICES", "1"));
  for (size_t i = 0; i < devices.size(); ++i) {
    DeviceConfiguration& device = devices[i];
    const std::vector<std::string> version = split(capability.text(i), '.');
    if (version.size() != 2) refuse("ATOLL_CUDA_DOUBLE_COMPUTE_CAPABILITY", capability.text(i));
    device.name = name.text(i);
    device.major = static_cast<int32_t>(to_number("ATOLL_CUDA_DOUBLE_COMPUTE_CAPABILITY", version[0]));
    device.minor = static_cast<int32_t>(to_number("ATOLL_CUDA_DOUBLE_COMPUTE_CAPABILITY", version[1]));
    device.memory_bytes = memory.number(i);
    device.compute_mode = static_cast<CudaComputeMode>(mode.number(i));
    device.taken = taken.number(i) != 0;
    device.uuid = uuid_of(i);
    char id[32];
    std::snprintf(id, sizeof(id), "0000:%02x:00.0", static_cast<unsigned>(i + 1));
    device.pci_id = id;
  }
  return devices;
}

namespace {

/// \return devices.size(): there is none such
size_t find_visible(const std::vector<DeviceConfiguration>& devices, const std::string& wanted) {
  size_t index = devices.size();
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  if (error == std::errc() && end == wanted.data() + wanted.size()) return std::min(index, devices.size());
  for (index = 0; index < devices.size(); ++index) {
    if (wanted.size() > 4 && uuid_text(devices[index].uuid).starts_with(wanted)) return index;
  }
  return devices.size();
}

std::vector<DeviceConfiguration> visible_devices() {
  std::vector<DeviceConfiguration> all = all_devices();
  const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
  if (wanted == nullptr) return all;
  std::vector<DeviceConfiguration> visible;
  std::vector<size_t> taken;
  for (const std::string& one : split(wanted, ',')) {
    const size_t index = find_visible(all, one);
    if (index == all.size()) break;
    // A device that is named twice leaves none at all.
    if (std::find(taken.begin(), taken.end(), index) != taken.end()) return {};
    taken.push_back(index);
    visible.push_back(all[index]);
  }
  return visible;
}

/// `TARGET:NTH:CODE` by commas.
std::vector<PlannedFailure> failures(const char* name) {
  std::vector<PlannedFailure> planned;
  for (const FailureText& one : failure_texts(name))
    planned.push_back({one.target, one.nth, static_cast<CudaResult>(one.code)});
  return planned;
}

}  // namespace

Configuration read_configuration() {
  Configuration read;
  read.devices = visible_devices();
  read.driver_version = static_cast<int32_t>(number("ATOLL_CUDA_DOUBLE_DRIVER", "13000"));
  read.init = static_cast<CudaResult>(number("ATOLL_CUDA_DOUBLE_INIT", "0"));
  read.stepped = number("ATOLL_CUDA_DOUBLE_STEPPED", "0") != 0;
  read.calls = failures("ATOLL_CUDA_DOUBLE_FAIL");
  read.operations = failures("ATOLL_CUDA_DOUBLE_STICKY");
  read.hang_event = number("ATOLL_CUDA_DOUBLE_HANG_EVENT", "0");
  read.slow_copy_ns = number("ATOLL_CUDA_DOUBLE_SLOW_COPY_US", "0") * 1000;
  read.kernels = split(variable("ATOLL_CUDA_DOUBLE_KERNELS"), ':');
  read.report = variable("ATOLL_CUDA_DOUBLE_REPORT");
  return read;
}

}  // namespace atl::cuda_double
