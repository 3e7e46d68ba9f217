/// telemetry/nvml: what NVML tells of GPUs, as Triton's metrics.
#include "atoll/core/plugin.h"

#include "atoll/core/followed_service.h"
#include "atoll/gpu/cuda.h"
#include "telemetry/nvml/gpu_metrics.h"
#include "telemetry/nvml/nvml_library.h"

namespace atl::telemetry {
namespace {

constexpr OptionTable kOptions{
    option_string("library", kNvmlLibrary).help("NVML: a name that the loader looks for, or a path."),
    option_duration("interval", "2s")
        .range("1ms", "3600s")
        .help("Shortest time between two readings of the GPUs."),
};

class NvmlPlugin final : public Plugin {
 public:
  explicit NvmlPlugin(Host& host)
      : host_(host),
        cuda_(host),
        reader_(open_nvml(host.options().get_string("library")), host.log()),
        metrics_(host.clock(), host.options().get_duration_ns("interval"),
                 [this] { return reader_.read(used_gpus()); }) {}

  Status start() override {
    if (!reader_.is_usable()) return {};
    ATOLL_RETURN_IF_ERROR(cuda_.open());
    return metrics_.open(host_.executors());
  }
  void stop() override {
    metrics_.close();
    cuda_.close();
  }
  MetricSource& metrics() noexcept { return metrics_; }

 private:
  /// nullopt: nobody says which ones are used.
  std::optional<std::vector<GpuName>> used_gpus() const {
    const auto cuda = cuda_.hold();
    if (!cuda) return std::nullopt;
    std::vector<GpuName> names;
    for (const CudaDeviceInfo& device : cuda->devices())
      names.push_back({.pci_id = device.pci_id, .uuid = device.uuid});
    return names;
  }

  Host& host_;
  Followed<Cuda> cuda_;
  GpuReader reader_;
  GpuMetrics metrics_;
};

}  // namespace

ATOLL_PLUGIN(NvmlPlugin, {.name = "telemetry/nvml",
                          .version = "1.0.0",
                          .license = "Apache-2.0",
                          .help = "Metrics of GPUs by NVML: utilization, memory, power, energy.",
                          .provides = {provide<MetricSource, &NvmlPlugin::metrics>()},
                          .needs = {optional<Cuda>()},
                          .options = kOptions});

}  // namespace atl::telemetry
