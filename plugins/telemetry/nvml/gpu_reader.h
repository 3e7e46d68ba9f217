/// Reads what NVML tells of GPUs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "atoll/gpu/nvml.h"

namespace atl::telemetry {

/// One GPU, or one part of one, at one time. What is not known is not there.
struct GpuReading {
  std::string uuid;                   ///< NVML's: "GPU-…", of a part "MIG-…"
  std::optional<double> utilization;  ///< 0 to 1
  std::optional<double> memory_total_bytes;
  std::optional<double> memory_used_bytes;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<double> energy_joules;  ///< since the reader's first reading
};

/// A GPU as the CUDA driver has it.
struct GpuName {
  std::string pci_id;  ///< "0000:3b:00.0"
  std::string uuid;    ///< "GPU-…"; where the GPU is divided, that of the part
};

/// One thread at a time.
class GpuReader {
 public:
  /// \param nvml  from open_nvml(), or why there is none
  GpuReader(Result<Nvml> nvml, Log& log);
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;
  ~GpuReader();

  /// False: there is nothing to read, for good. What there is to say about it is in the log.
  bool is_usable() const noexcept { return nvml_.ok(); }
  /// Takes long: it asks the driver. The first one initialises the library, and is what energy counts from.
  /// A GPU that is lost is left out, with one line in the log until it is back.
  /// \param wanted  nullopt: all that NVML shows
  std::vector<GpuReading> read(const std::optional<std::vector<GpuName>>& wanted);

 private:
  /// What is known of one, by what it was asked for.
  struct Known {
    bool is_lost = false;
    std::set<std::string_view> complained;  ///< of calls whose failure the log has already
  };
  struct Energy {
    uint64_t last_mj = 0;
    uint64_t total_mj = 0;
  };
  /// A reading that ends with the first sign that the GPU is lost.
  struct Asked {
    const std::string& name;
    Known& known;
    bool is_lost = false;
    bool is_read = false;
  };

  bool initialise();
  void read_all(std::vector<GpuReading>& readings);
  void read_named(const GpuName& name, std::vector<GpuReading>& readings);
  void read_device(Asked& asked, NvmlDevice device, std::vector<GpuReading>& readings);
  void read_part(Asked& asked, NvmlDevice device, const GpuName& name, std::vector<GpuReading>& readings);
  bool give(Asked& asked, const char* call, NvmlResult result);
  void end(Asked& asked);
  double joules_since_start(const std::string& uuid, uint64_t millijoules);

  Result<Nvml> nvml_;
  Log& log_;
  bool is_initialised_ = false;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, Energy, std::less<>> energy_;
};

}  // namespace atl::telemetry
