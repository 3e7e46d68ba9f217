/// Services "atoll.tracing/1", "atoll.trace_log/1" and "atoll.metric_source/1".
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atoll/core/gate.h"
#include "atoll/core/metrics.h"
#include "atoll/request/trace_log.h"
#include "atoll/request/tracing.h"
#include "telemetry/trace/background_exporter.h"
#include "telemetry/trace/recorder.h"
#include "telemetry/trace/scope_table.h"
#include "telemetry/trace/settings.h"
#include "telemetry/trace/slowest_traces.h"

namespace atl::tracing {

/// What clients have set, against the manifest.
struct ClientSettings {
  OwnValues global;
  std::map<std::string, OwnValues> models;
};

class TracingService final : public Tracing, public TraceLog, public MetricSource {
 public:
  /// \param config, exporter, counts, clock, gate  outlive the service, and the service the traces.
  TracingService(const Config& config, BackgroundExporter& exporter, const ExportCounts& counts,
                 const Clock& clock, Gate& gate, IdSource& ids);

  /// Tracing and TraceLog both declare this function, with one meaning.
  bool active() const noexcept override { return on_.load(std::memory_order_relaxed); }
  Trace* start(const TraceStart& request) noexcept override;
  Result<std::vector<TraceSetting>> settings(std::string_view model) const noexcept override;
  /// A model's scope is made anew, and so is that of every model that takes over a changed global value:
  /// their sampling begins again.
  Status update(std::string_view model, std::span<const TraceSetting> changes) noexcept override;
  std::vector<TraceSummary> slowest() const noexcept override;
  Result<FinishedTrace> find(uint64_t id) const noexcept override;
  void collect(MetricSink& sink) const noexcept override;

  ClientSettings client_settings() const;
  /// Those of the instance before, over this one's manifest. What is not valid over it is left out.
  /// \returns whose that was: "" for the server's
  std::vector<std::string> take_over(const ClientSettings& settings);

  /// Models that may have settings of their own at a time; further ones are refused as RESOURCE_EXHAUSTED. To
  /// be set before use.
  void limit_models(size_t models_max) noexcept { models_max_ = models_max; }
  /// What reaches tensors in device memory. To be set before use; outlives the traces.
  void use(const DeviceMemory& devices) noexcept { recorder_context_.devices = &devices; }
  /// What the exporter keeps the slowest traces in; without it there are none. To be set before use; outlives the service.
  void use(const SlowestTraces& slowest) noexcept { slowest_ = &slowest; }

 private:
  Result<std::unique_ptr<ScopeSnapshot>> with_global(OwnValues own) const;
  Result<std::unique_ptr<ScopeSnapshot>> with_model(std::string_view model, OwnValues own) const;
  void publish(std::unique_ptr<ScopeSnapshot> next);

  const Config& config_;
  BackgroundExporter& exporter_;
  const ExportCounts& counts_;
  Gate& gate_;
  IdSource& ids_;
  const bool opentelemetry_;
  size_t models_max_ = 10'000;
  std::atomic<bool> on_{false};  ///< some scope may take traces
  std::atomic<uint64_t> next_id_{1};
  std::atomic<uint64_t> started_{0};
  mutable std::mutex mutex_;  ///< one update at a time; never by requests
  ScopeTable scopes_;
  RecorderContext recorder_context_;
  const SlowestTraces* slowest_ = nullptr;
};

}  // namespace atl::tracing
