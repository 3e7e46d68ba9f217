/// telemetry/trace: samples requests and writes down what happened to them.
#include "atoll/core/plugin.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "telemetry/trace/file_exporter.h"
#include "telemetry/trace/option_table.h"
#include "telemetry/trace/otlp_exporter.h"
#include "telemetry/trace/tracing_service.h"

namespace atl::tracing {
namespace {

/// The running instances of this process, by name, the newest of each last: an instance that takes another one's place
/// begins with what clients have set there, and shares its slowest traces, to which both add while both run. Found only by
/// code of the same file; one that is replaced by a newer build of the plugin begins with the manifest's values, and without
/// traces.
class RunningServices {
 public:
  void add(std::string_view instance, const TracingService& service, std::shared_ptr<SlowestTraces> slowest) {
    std::scoped_lock lock(mutex_);
    running_.push_back({std::string(instance), &service, std::move(slowest)});
  }
  void remove(const TracingService& service) {
    std::scoped_lock lock(mutex_);
    std::erase_if(running_, [&](const Running& one) { return one.service == &service; });
  }
  ClientSettings settings_of(std::string_view instance) const {
    std::scoped_lock lock(mutex_);
    const Running* const found = newest(instance);
    return found == nullptr ? ClientSettings() : found->service->client_settings();
  }
  /// Null: no such instance runs.
  std::shared_ptr<SlowestTraces> slowest_of(std::string_view instance) const {
    std::scoped_lock lock(mutex_);
    const Running* const found = newest(instance);
    return found == nullptr ? nullptr : found->slowest;
  }

 private:
  struct Running {
    std::string instance;
    const TracingService* service;
    std::shared_ptr<SlowestTraces> slowest;
  };
  const Running* newest(std::string_view instance) const noexcept {
    for (auto one = running_.rbegin(); one != running_.rend(); ++one) {
      if (one->instance == instance) return &*one;
    }
    return nullptr;
  }

  mutable std::mutex mutex_;
  std::vector<Running> running_;
};

RunningServices& running_services() {
  static RunningServices services;
  return services;
}

class TracePlugin final : public Plugin {
 public:
  explicit TracePlugin(Host& host) : host_(host), ids_(IdSource::from_system()) {}

  Status init() override {
    Result<Config> config = read_config(host_.options());
    if (!config.ok()) return std::move(config).status();
    config_ = std::move(config).value();
    if (config_.mode == Mode::kTriton) {
      exporter_ = std::make_unique<FileExporter>(config_, host_.replaces_running_instance(), host_.clock(),
                                                 host_.log(), counts_);
    } else {
      auto transport = HttpTransport::create(config_.url);
      if (!transport.ok()) return std::move(transport).status();
      exporter_ = std::make_unique<OtlpExporter>(config_, std::move(transport).value(), ids_, host_.clock(),
                                                 host_.log(), counts_);
    }
    service_ =
        std::make_unique<TracingService>(config_, *exporter_, counts_, host_.clock(), host_.gate(), ids_);
    service_->use(devices_);
    return {};
  }
  Status start() override {
    if (host_.replaces_running_instance()) slowest_ = running_services().slowest_of(host_.instance_name());
    if (slowest_ == nullptr) slowest_ = std::make_shared<SlowestTraces>();
    service_->use(*slowest_);
    exporter_->keep_in(*slowest_);
    ATOLL_RETURN_IF_ERROR(devices_.open());
    ATOLL_RETURN_IF_ERROR(exporter_->start(host_.executors()));
    if (host_.replaces_running_instance()) {
      for (const std::string& whose :
           service_->take_over(running_services().settings_of(host_.instance_name()))) {
        host_.log().warning("the trace settings that clients have set for ",
                            whose.empty() ? std::string("the server") : cat("model '", whose, "'"),
                            " end: they do not go with the changed options");
      }
    }
    running_services().add(host_.instance_name(), *service_, slowest_);
    return {};
  }
  void stop() override {
    running_services().remove(*service_);
    exporter_->stop(host_.clock().now_ns() + config_.stop_timeout_ns);
    devices_.close();
  }
  TracingService& service() noexcept { return *service_; }
  std::string holding() override {
    int64_t open = host_.gate().count();
    return open == 0 ? std::string() : cat(open, " traces of requests under way");
  }

 private:
  Host& host_;
  Config config_;
  IdSource ids_;
  ExportCounts counts_;
  DeviceMemory devices_{host_};
  std::shared_ptr<SlowestTraces> slowest_;
  std::unique_ptr<BackgroundExporter> exporter_;
  std::unique_ptr<TracingService> service_;
};

}  // namespace

// Resident: the TLS library below libcurl cannot be unmapped while threads that used it live.
ATOLL_PLUGIN(TracePlugin, {.name = "telemetry/trace",
                           .version = "1.0.0",
                           .license = "Apache-2.0",
                           .help = "Samples requests and writes their traces to a file or a collector.",
                           .flags = ATOLL_PLUGIN_RESIDENT,
                           .provides = {provide<Tracing, &TracePlugin::service>(),
                                        provide<TraceLog, &TracePlugin::service>(),
                                        provide<MetricSource, &TracePlugin::service>()},
                           .needs = {many<Memory>()},
                           .options = kOptions,
                           .check = &check_options});

}  // namespace atl::tracing
