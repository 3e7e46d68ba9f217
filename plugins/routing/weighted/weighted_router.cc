#include "routing/weighted/weighted_router.h"

#include <algorithm>
#include <string>
#include <utility>

#include "routing/weighted/sequence_models.h"

namespace atl::routing {

bool WeightedRouter::has_shadows() const noexcept {
  return std::any_of(routes_.begin(), routes_.end(),
                     [](const auto& entry) { return !entry.second.shadows.empty(); });
}

std::vector<std::string> WeightedRouter::unserved_models() const {
  std::vector<std::string> unserved;
  for (const auto& entry : routes_) {
    const Result<std::vector<int64_t>> versions = catalog_->ready_versions(entry.first);
    if (!versions.ok() || versions.value().empty()) unserved.push_back(entry.first);
  }
  return unserved;
}

std::optional<int64_t> WeightedRouter::labelled(std::string_view model,
                                                std::string_view label) const noexcept {
  auto route = routes_.find(model);
  if (route == routes_.end()) return std::nullopt;
  auto found = route->second.labels.find(label);
  if (found == route->second.labels.end()) return std::nullopt;
  return found->second;
}

Result<ModelRef> WeightedRouter::route(std::string_view model, int64_t version) noexcept {
  auto found = routes_.find(model);
  if (found == routes_.end()) return catalog_->acquire(model, version);
  ModelRoute& route = found->second;
  const bool weighted = version == ModelCatalog::kLatest && !route.weights.empty();
  Result<ModelRef> served = weighted ? by_weight(model, route) : catalog_->acquire(model, version);
  if (!served.ok() || shadows_ == nullptr || route.shadows.empty()) return served;
  return with_shadows(std::move(served).value(), route);
}

Result<ModelRef> WeightedRouter::by_weight(std::string_view model, const ModelRoute& route) noexcept {
  const size_t first = pick(route.weights, 0, draws_.next());
  Result<ModelRef> served = catalog_->acquire(model, route.weights[first].version);
  if (served.ok() && serves_sequences(served.value()->info())) return heaviest(model, route);
  // What is not READY leaves its part to the others; the failure told is that of the version first chosen.
  uint64_t tried = uint64_t{1} << first;
  for (size_t left = route.weights.size() - 1; !served.ok() && left > 0; --left) {
    const size_t next = pick(route.weights, tried, draws_.next());
    tried |= uint64_t{1} << next;
    Result<ModelRef> other = catalog_->acquire(model, route.weights[next].version);
    if (!other.ok()) continue;
    return serves_sequences(other.value()->info()) ? heaviest(model, route) : std::move(other);
  }
  return served;
}

Result<ModelRef> WeightedRouter::heaviest(std::string_view model, const ModelRoute& route) noexcept {
  Result<ModelRef> served = catalog_->acquire(model, route.weights.front().version);
  for (size_t i = 1; !served.ok() && i < route.weights.size(); ++i) {
    if (Result<ModelRef> other = catalog_->acquire(model, route.weights[i].version); other.ok()) return other;
  }
  return served;
}

ModelRef WeightedRouter::with_shadows(ModelRef served, ModelRoute& route) noexcept {
  for (ShadowTarget& target : route.shadows) {
    if (served->info().version == target.version || draws_.next() > target.threshold) continue;
    served = ShadowedModel::wrap(std::move(served), target, *shadows_);
  }
  return served;
}

void WeightedRouter::collect(MetricSink& sink) const noexcept {
  const auto family = [&](std::string_view name, std::string_view help, MetricKind kind, auto value_of) {
    bool begun = false;
    for (const auto& [model, route] : routes_) {
      for (const ShadowTarget& target : route.shadows) {
        if (!std::exchange(begun, true)) sink.family(name, help, kind);
        const std::string version = std::to_string(target.version);
        const MetricLabel labels[] = {{"model", model}, {"version", version}};
        sink.sample(labels, static_cast<double>(value_of(target)));
      }
    }
  };
  const auto relaxed = std::memory_order_relaxed;
  family("atoll_shadow_requests_total", "Copies of requests that were run on a shadow version.",
         MetricKind::kCounter, [=](const ShadowTarget& target) { return target.requests.load(relaxed); });
  family("atoll_shadow_failures_total", "Copies of requests that a shadow version refused or failed.",
         MetricKind::kCounter, [=](const ShadowTarget& target) { return target.failures.load(relaxed); });
  family("atoll_shadow_dropped_total", "Copies of requests that were not run because of a limit.",
         MetricKind::kCounter, [=](const ShadowTarget& target) { return target.dropped.load(relaxed); });
  family("atoll_shadow_requests_in_flight", "Copies of requests that are waiting or being run.",
         MetricKind::kGauge, [=](const ShadowTarget& target) { return target.in_flight.load(relaxed); });
}

}  // namespace atl::routing
