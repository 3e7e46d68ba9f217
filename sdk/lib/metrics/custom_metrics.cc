#include "atoll/lib/custom_metrics.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace atl {
namespace {

/// As Prometheus has them.
bool is_metric_name(std::string_view text, bool with_colons) noexcept {
  const auto is_first = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (with_colons && c == ':');
  };
  return !text.empty() && is_first(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_first(c) || (c >= '0' && c <= '9'); });
}

Status check_labels(const CustomLabels& labels, MetricKind kind) {
  for (const auto& [name, value] : labels) {
    if (!is_metric_name(name, false) || name.starts_with("__") ||
        (kind == MetricKind::kHistogram && name == "le"))
      return invalid_argument("no label of a metric can have the name '", name, "'");
  }
  return {};
}

Status check_bounds(const std::vector<double>& bounds) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (!std::isfinite(bounds[i]) || (i != 0 && bounds[i] <= bounds[i - 1]))
      return invalid_argument("bucket ", i, " of a histogram ends at ", bounds[i],
                              ", expected finite numbers that ascend");
  }
  return {};
}

/// What the entry points to, made where nobody holds it. Now and then the map forgets what is gone, so that it does not grow.
template <class Map, class Make>
auto find_or_make(Map& map, const typename Map::key_type& key, Make&& make) {
  if (map.size() % 64 == 63) std::erase_if(map, [](const auto& entry) { return entry.second.expired(); });
  auto& known = map[key];
  auto found = known.lock();
  if (found == nullptr) known = found = make();
  return found;
}

}  // namespace

void CustomMetric::observe(double value) noexcept {
  const auto bucket = static_cast<size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
  std::lock_guard lock(mutex_);
  ++counts_[bucket];
  sum_ += value;
}

void CustomMetric::show(MetricSink& sink, std::span<const MetricLabel> labels) const {
  if (kind_ != MetricKind::kHistogram) return sink.sample(labels, value());
  std::lock_guard lock(mutex_);
  sink.histogram(labels, {bounds_, counts_, sum_});
}

Result<std::shared_ptr<CustomMetrics::Family>> CustomMetrics::family(const std::string& name,
                                                                     const std::string& help,
                                                                     MetricKind kind) {
  if (!is_metric_name(name, true)) return invalid_argument("no metric can have the name '", name, "'");
  std::lock_guard lock(mutex_);
  auto family = find_or_make(families_, name, [&] { return std::make_shared<Family>(name, help, kind); });
  if (family->kind_ != kind)
    return invalid_argument("metric family '", name, "' is registered with another kind");
  return family;
}

Result<std::shared_ptr<CustomMetric>> CustomMetrics::metric(Family& family, const CustomLabels& labels,
                                                            std::vector<double> bounds) {
  ATOLL_RETURN_IF_ERROR(check_labels(labels, family.kind_));
  ATOLL_RETURN_IF_ERROR(check_bounds(bounds));
  std::lock_guard lock(mutex_);
  return find_or_make(family.metrics_, labels,
                      [&] { return std::make_shared<CustomMetric>(family.kind_, std::move(bounds)); });
}

void CustomMetrics::collect(MetricSink& sink) const noexcept {
  std::lock_guard lock(mutex_);
  std::vector<MetricLabel> labels;
  for (const auto& [name, known] : families_) {
    const std::shared_ptr<Family> family = known.lock();
    if (family == nullptr) continue;
    bool is_begun = false;
    for (const auto& [names, weak] : family->metrics_) {
      const std::shared_ptr<CustomMetric> metric = weak.lock();
      if (metric == nullptr) continue;
      if (!std::exchange(is_begun, true)) sink.family(name, family->help_, family->kind_);
      labels.clear();
      for (const auto& [label, value] : names) labels.push_back({label, value});
      metric->show(sink, labels);
    }
  }
}

}  // namespace atl
