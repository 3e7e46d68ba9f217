#include "telemetry/nvml/gpu_reader.h"

#include <algorithm>
#include <utility>

#include "telemetry/nvml/nvml_library.h"

namespace atl::telemetry {
namespace {

constexpr double kMilli = 0.001;

/// Without what says what it is of: "GPU-" or "MIG-".
std::string_view bare(std::string_view uuid) { return uuid.substr(std::min<size_t>(uuid.size(), 4)); }

}  // namespace

GpuReader::GpuReader(Result<Nvml> nvml, Log& log) : nvml_(std::move(nvml)), log_(log) {
  if (!nvml_.ok()) log_.info("no metrics of GPUs: ", nvml_.status().message());
}

GpuReader::~GpuReader() {
  if (is_initialised_) (void)nvml_->nvmlShutdown();
}

std::vector<GpuReading> GpuReader::read(const std::optional<std::vector<GpuName>>& wanted) {
  std::vector<GpuReading> readings;
  if (!initialise()) return readings;
  if (wanted) {
    for (const GpuName& name : *wanted) read_named(name, readings);
  } else {
    read_all(readings);
  }
  return readings;
}

bool GpuReader::initialise() {
  if (!nvml_.ok() || is_initialised_) return nvml_.ok();
  const NvmlResult result = nvml_->nvmlInit_v2();
  if (result != NvmlResult::SUCCESS) {
    nvml_ = unavailable("NVML cannot be used: nvmlInit_v2 gave ", nvml_result_text(result));
    log_.info("no metrics of GPUs: ", nvml_.status().message());
    return false;
  }
  is_initialised_ = true;
  char version[kNvmlUuidBytes] = {};
  if (nvml_->nvmlSystemGetDriverVersion(version, sizeof version) == NvmlResult::SUCCESS)
    log_.info("metrics of GPUs by NVML, driver ", version);
  return true;
}

void GpuReader::read_all(std::vector<GpuReading>& readings) {
  uint32_t count = 0;
  const std::string all = "the list of GPUs";
  Asked asked{all, known_[all]};
  if (!give(asked, "nvmlDeviceGetCount_v2", nvml_->nvmlDeviceGetCount_v2(&count))) return;
  for (uint32_t index = 0; index < count; ++index) {
    const std::string name = cat("GPU ", index);
    Asked one{name, known_[name]};
    NvmlDevice device = nullptr;
    const NvmlResult result = nvml_->nvmlDeviceGetHandleByIndex_v2(index, &device);
    if (give(one, "nvmlDeviceGetHandleByIndex_v2", result)) read_device(one, device, readings);
    end(one);
  }
}

void GpuReader::read_named(const GpuName& name, std::vector<GpuReading>& readings) {
  const std::string shown = cat("GPU ", name.pci_id);
  Asked asked{shown, known_[shown]};
  NvmlDevice device = nullptr;
  const NvmlResult result = nvml_->nvmlDeviceGetHandleByPciBusId_v2(name.pci_id.c_str(), &device);
  std::vector<GpuReading> found;
  if (give(asked, "nvmlDeviceGetHandleByPciBusId_v2", result)) {
    read_device(asked, device, found);
    if (!asked.is_lost) read_part(asked, device, name, found);
  }
  if (!asked.is_lost) std::move(found.begin(), found.end(), std::back_inserter(readings));
  end(asked);
}

void GpuReader::read_part(Asked& asked, NvmlDevice device, const GpuName& name,
                          std::vector<GpuReading>& readings) {
  uint32_t mode = 0, after_reset = 0;
  const NvmlResult result = nvml_->nvmlDeviceGetMigMode(device, &mode, &after_reset);
  if (!give(asked, "nvmlDeviceGetMigMode", result) || mode != kNvmlMigEnabled) return;
  const std::string uuid = cat("MIG-", bare(name.uuid));
  NvmlDevice part = nullptr;
  if (give(asked, "nvmlDeviceGetHandleByUUID", nvml_->nvmlDeviceGetHandleByUUID(uuid.c_str(), &part)))
    read_device(asked, part, readings);
}

void GpuReader::read_device(Asked& asked, NvmlDevice device, std::vector<GpuReading>& readings) {
  GpuReading reading;
  char uuid[kNvmlUuidBytes] = {};
  if (!give(asked, "nvmlDeviceGetUUID", nvml_->nvmlDeviceGetUUID(device, uuid, sizeof uuid))) return;
  reading.uuid = uuid;
  NvmlUtilization rates;
  if (give(asked, "nvmlDeviceGetUtilizationRates", nvml_->nvmlDeviceGetUtilizationRates(device, &rates)))
    reading.utilization = std::min(rates.gpu, 100u) * 0.01;
  NvmlMemory memory;
  if (give(asked, "nvmlDeviceGetMemoryInfo_v2", nvml_->nvmlDeviceGetMemoryInfo_v2(device, &memory))) {
    reading.memory_total_bytes = static_cast<double>(memory.total);
    reading.memory_used_bytes = static_cast<double>(memory.used);
  }
  uint32_t milliwatts = 0;
  if (give(asked, "nvmlDeviceGetPowerUsage", nvml_->nvmlDeviceGetPowerUsage(device, &milliwatts)))
    reading.power_watts = milliwatts * kMilli;
  if (give(asked, "nvmlDeviceGetPowerManagementLimit",
           nvml_->nvmlDeviceGetPowerManagementLimit(device, &milliwatts)))
    reading.power_limit_watts = milliwatts * kMilli;
  unsigned long long millijoules = 0;
  if (give(asked, "nvmlDeviceGetTotalEnergyConsumption",
           nvml_->nvmlDeviceGetTotalEnergyConsumption(device, &millijoules)))
    reading.energy_joules = joules_since_start(reading.uuid, millijoules);
  if (asked.is_lost) return;
  asked.is_read = true;
  readings.push_back(std::move(reading));
}

/// Whether the call has given something. What a GPU has not, or does not tell this user, is no failure; any other one is
/// in the log once.
bool GpuReader::give(Asked& asked, const char* call, NvmlResult result) {
  switch (result) {
    case NvmlResult::SUCCESS:
      return true;
    case NvmlResult::NOT_SUPPORTED:
    case NvmlResult::NO_PERMISSION:
      return false;
    case NvmlResult::GPU_IS_LOST:
    case NvmlResult::RESET_REQUIRED:
      if (!std::exchange(asked.known.is_lost, true)) {
        log_.error(asked.name, " has no metrics any more: ", call, " gave ", nvml_result_text(result));
      }
      asked.is_lost = true;
      return false;
    default:
      if (asked.known.complained.insert(call).second) {
        log_.warning(asked.name, ": metrics are left out: ", call, " gave ", nvml_result_text(result));
      }
      return false;
  }
}

void GpuReader::end(Asked& asked) {
  if (asked.is_lost || !asked.is_read || !std::exchange(asked.known.is_lost, false)) return;
  log_.info(asked.name, " has metrics again");
}

/// A count that falls has begun anew, as that of a driver does which was loaded again.
double GpuReader::joules_since_start(const std::string& uuid, uint64_t millijoules) {
  const auto [found, is_first] = energy_.try_emplace(uuid, Energy{.last_mj = millijoules, .total_mj = 0});
  Energy& energy = found->second;
  energy.total_mj += millijoules >= energy.last_mj ? millijoules - energy.last_mj : millijoules;
  energy.last_mj = millijoules;
  return static_cast<double>(energy.total_mj) * kMilli;
}

}  // namespace atl::telemetry
