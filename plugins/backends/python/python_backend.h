/// The Python backend.
#pragma once

#include <memory>
#include <string>

#include "atoll/backend/backend.h"
#include "atoll/core/host.h"
#include "atoll/gpu/device_memory.h"
#include "backends/python/calls/call_graph.h"
#include "backends/python/calls/metric_registry.h"
#include "backends/python/calls/server_link.h"
#include "backends/python/model/backend_scripts.h"
#include "backends/python/model/model_program.h"
#include "backends/python/model/model_reloads.h"
#include "backends/python/model/model_settings.h"
#include "backends/python/process/worker.h"
#include "backends/python/process/worker_metrics.h"
#include "backends/python/worker_loop.h"

namespace atl::python {

class PythonBackend final : public Backend {
 public:
  /// \param python_folder  with atoll_worker in it
  PythonBackend(Host& host, PythonSettings settings, std::string python_folder);

  BackendTraits traits() const noexcept override;
  Result<std::string> complete_config(const ModelSource& source) noexcept override;
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override;
  /// Models of backends that are Python programs.
  Result<bool> serves(const ModelSource& source) noexcept override;
  Status start() {
    scripts_.check(host_.log());
    ATOLL_RETURN_IF_ERROR(devices_.open());
    return server_.open();
  }
  /// When no model is loaded any more.
  void stop() noexcept {
    reloads_.stop();
    server_.close();
    devices_.close();
    loop_.stop();
  }
  void collect(MetricSink& sink) const noexcept {
    worker_metrics_.collect(sink);
    metrics_.collect(sink);
  }

 private:
  /// Nothing runs before the first model comes.
  Result<ModelProgram> prepare(const ModelSource& source);

  Host& host_;
  const PythonSettings settings_;
  const std::string python_folder_;
  const BackendScripts scripts_;
  PackedEnvironments packed_;
  WorkerLoop loop_;
  ServerLink server_;
  DeviceMemory devices_;
  MetricRegistry metrics_;
  WorkerMetrics worker_metrics_;
  CallGraph graph_;
  ModelReloads reloads_;
  const WorkerContext context_;
};

}  // namespace atl::python
