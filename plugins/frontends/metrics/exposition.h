/// The whole page.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/event_bus.h"
#include "atoll/core/events.h"
#include "atoll/core/followed_service.h"
#include "atoll/core/host.h"
#include "atoll/models/model.h"
#include "frontends/metrics/host_load.h"
#include "frontends/metrics/latency_windows.h"
#include "frontends/metrics/model_facts.h"
#include "frontends/metrics/plugin_states.h"
#include "frontends/metrics/settings.h"

namespace atl::frontends::metrics {

/// Knows where every metric comes from.
class Exposition {
 public:
  Exposition(Host& host, const MetricsSettings& settings);

  /// Follows the events and the catalog until close(). [control]
  Status open() noexcept;
  void close() noexcept;

  /// Whether poll() has anything to do.
  bool needs_samples() const noexcept {
    return settings_.cpu_metrics || settings_.summary_latencies || settings_.histogram_latencies;
  }
  /// What must be sampled between scrapes. One thread, which may be another than those of text().
  void poll();
  /// The page as of now. Calls wait for each other. [worker] \param refused_connections  by the server, so far
  std::string text(uint64_t refused_connections, PageFormat format);
  /// A few sums of the whole server as of now: at most 4 kB, and no look at models that have no requests. Waits for nobody. [any]
  std::string summary(PageFormat format) const;
  /// True while the server as a whole ends. [any]
  bool exiting() const noexcept {
    auto catalog = catalog_.hold();
    return catalog && catalog->exiting();
  }

 private:
  void write_models(Page& page);
  static void write_requests(const ModelCatalog& catalog, Page& page);
  /// What a model's configuration asks for in vain is told soon after its load.
  void look_at(const ModelStateChanged& event);
  void read_loaded();
  void write_event_bus(Page& page);
  void write_self(Page& page, int64_t begun_ns, uint64_t refused_connections);

  Host& host_;
  const MetricsSettings& settings_;
  std::mutex mutex_;                ///< held while a page is put together
  Followed<ModelCatalog> catalog_;  ///< without one there are no models
  ModelFactsCache facts_;
  HostLoad load_;
  LatencyWindows windows_;
  PluginStates states_;
  struct OnModel {
    Exposition* self;
    void operator()(const ModelStateChanged& event) const { self->look_at(event); }
  };
  Subscription<ModelStateChanged, OnModel> models_news_{OnModel{this}};
  std::mutex loaded_mutex_;
  std::vector<std::pair<std::string, int64_t>> loaded_;  ///< since the last poll
  uint64_t scrapes_ = 0;
};

}  // namespace atl::frontends::metrics
