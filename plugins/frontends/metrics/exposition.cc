#include "frontends/metrics/exposition.h"

#include <utility>

#include "frontends/metrics/model_families.h"
#include "frontends/metrics/source_sink.h"

namespace atl::frontends::metrics {

Exposition::Exposition(Host& host, const MetricsSettings& settings)
    : host_(host), settings_(settings), catalog_(host), facts_(host.log()) {}

Status Exposition::open() noexcept {
  ATOLL_RETURN_IF_ERROR(catalog_.open());
  if (settings_.histogram_latencies) ATOLL_RETURN_IF_ERROR(models_news_.open(host_.events()));
  return states_.follow(host_.events());
}

void Exposition::close() noexcept {
  states_.unfollow();
  models_news_.reset();
  catalog_.close();
}

void Exposition::look_at(const ModelStateChanged& event) {
  if (event.state != ModelStateChanged::State::kReady) return;
  std::lock_guard lock(loaded_mutex_);
  loaded_.emplace_back(event.model.view(), event.version);
}

void Exposition::read_loaded() {
  std::vector<std::pair<std::string, int64_t>> loaded;
  {
    std::lock_guard lock(loaded_mutex_);
    loaded.swap(loaded_);
  }
  auto catalog = catalog_.hold();
  if (loaded.empty() || !catalog) return;
  std::lock_guard lock(mutex_);
  for (const auto& [name, version] : loaded) (void)facts_.find(*catalog, name, version);
}

void Exposition::poll() {
  if (settings_.cpu_metrics) load_.sample();
  read_loaded();
  auto catalog = catalog_.hold();
  if (!settings_.summary_latencies || !catalog) return;
  Result<std::vector<ModelStatistics>> models = catalog->statistics("", ModelCatalog::kLatest);
  if (models.ok()) windows_.observe(*models, host_.clock().now_ns());
}

std::string Exposition::text(uint64_t refused_connections, PageFormat format) {
  std::lock_guard lock(mutex_);
  const int64_t begun_ns = host_.clock().now_ns();
  Page page(settings_.max_series, format);
  write_models(page);
  load_.write(page);
  write_pinned_memory(host_.registry(), page);
  states_.write(page);
  write_event_bus(page);
  write_process(page);
  write_self(page, begun_ns, refused_connections);
  const auto left_out = page.family("atoll_metrics_left_out_samples",
                                    "Samples missing on this page: beyond max_series, or not valid.",
                                    prometheus::MetricType::Gauge);
  // Last, so that no source takes a name or delays the numbers above.
  write_sources(host_.registry(), page);
  page.value(left_out, {}, static_cast<double>(page.left_out()));
  return page.text();
}

void Exposition::write_models(Page& page) {
  ModelFamilies families(page, settings_);
  auto catalog = catalog_.hold();
  if (!catalog) return;
  catalog->visit_statistics([&](const ModelStatistics& model) {
    const ModelFacts* facts = facts_.find(*catalog, model.name, model.version);
    if (facts == nullptr) return;  // unloaded since
    if (settings_.summary_latencies) {
      const LatencyHistograms recent = windows_.recent(model);
      families.add(model, *facts, &recent);
    } else {
      families.add(model, *facts, nullptr);
    }
  });
  facts_.forget_unused();
  write_requests(*catalog, page);
}

std::string Exposition::summary(PageFormat format) const {
  Page page(settings_.max_series, format);
  if (auto catalog = catalog_.hold()) write_requests(*catalog, page);
  load_.write(page);
  return page.text();
}

void Exposition::write_requests(const ModelCatalog& catalog, Page& page) {
  const RequestsNow now = catalog.requests_now();
  page.gauge("atoll_requests_waiting", "Requests of all models that no instance executes yet.",
             static_cast<double>(now.waiting));
  page.gauge("atoll_requests_running", "Requests of all models that instances execute.",
             static_cast<double>(now.running));
}

void Exposition::write_event_bus(Page& page) {
  const EventBusStatistics bus = host_.events().statistics();
  page.counter("atoll_event_bus_published_total", "Events given to the event bus.",
               static_cast<double>(bus.published));
  page.counter("atoll_event_bus_delivered_total", "Events delivered, counted for each subscription.",
               static_cast<double>(bus.delivered));
  page.counter("atoll_event_bus_dropped_total", "Events lost to full queues.",
               static_cast<double>(bus.dropped));
  page.gauge("atoll_event_bus_queued", "Events that wait for delivery.", static_cast<double>(bus.queued));
  page.gauge("atoll_event_bus_subscriptions", "Open subscriptions.", static_cast<double>(bus.subscriptions));
}

void Exposition::write_self(Page& page, int64_t begun_ns, uint64_t refused_connections) {
  page.value(
      page.family("atoll_server_info", "1; the version is in the label.", prometheus::MetricType::Gauge),
      {{"version", std::string(host_.server_version())}}, 1);
  page.counter("atoll_metrics_scrapes_total", "Pages given so far, this one included.",
               static_cast<double>(++scrapes_));
  page.gauge("atoll_metrics_collect_duration_seconds",
             "Time that the numbers of this server and its models took for this page.",
             static_cast<double>(host_.clock().now_ns() - begun_ns) / static_cast<double>(kNsPerSecond));
  page.counter("atoll_metrics_refused_connections_total", "Connections refused because of max_connections.",
               static_cast<double>(refused_connections));
}

}  // namespace atl::frontends::metrics
