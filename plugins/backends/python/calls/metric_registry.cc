#include "backends/python/calls/metric_registry.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace atl::python {
namespace {

bool is_name(std::string_view name, bool with_colon) {
  const auto is_first = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (with_colon && c == ':');
  };
  return !name.empty() && is_first(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_first(c) || (c >= '0' && c <= '9'); });
}

bool ascend(const std::vector<double>& bounds) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (!std::isfinite(bounds[i]) || (i != 0 && bounds[i] <= bounds[i - 1])) return false;
  }
  return true;
}

/// Now and then, so that a map does not grow with what is gone.
template <class Map>
void forget_expired(Map& map) {
  if (map.size() % 64 == 63) std::erase_if(map, [](const auto& entry) { return entry.second.expired(); });
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

Result<std::shared_ptr<MetricRegistry::Family>> MetricRegistry::family(const std::string& name,
                                                                       const std::string& help,
                                                                       MetricKind kind) {
  if (!is_name(name, true)) return invalid_argument("'", name, "' is no name of a metric");
  std::lock_guard lock(mutex_);
  forget_expired(families_);
  std::weak_ptr<Family>& known = families_[name];
  std::shared_ptr<Family> family = known.lock();
  if (family == nullptr) {
    family = std::make_shared<Family>(name, help, kind);
    known = family;
  }
  if (family->kind_ != kind) return invalid_argument("a metric family of another kind is named '", name, "'");
  return family;
}

Result<std::shared_ptr<CustomMetric>> MetricRegistry::metric(Family& family, const MetricLabels& labels,
                                                             std::vector<double> bounds) {
  for (const auto& [name, value] : labels) {
    if (!is_name(name, false) || name == "le") return invalid_argument("'", name, "' is no name of a label");
  }
  if (!ascend(bounds))
    return invalid_argument("the buckets of '", family.name_, "' are not finite and ascending");
  std::lock_guard lock(mutex_);
  forget_expired(family.metrics_);
  std::weak_ptr<CustomMetric>& known = family.metrics_[labels];
  std::shared_ptr<CustomMetric> metric = known.lock();
  if (metric == nullptr) {
    metric = std::make_shared<CustomMetric>(family.kind_, std::move(bounds));
    known = metric;
  }
  return metric;
}

bool MetricRegistry::hurry_all() const noexcept {
  std::lock_guard lock(news_mutex_);
  bool is_done = true;
  for (MetricNews* news : news_) is_done = news->hurry() && is_done;
  return is_done;
}

void MetricRegistry::collect(MetricSink& sink) const noexcept {
  constexpr int kLooks = 10;
  constexpr auto kPause = std::chrono::microseconds(100);
  for (int i = 0; i < kLooks && !hurry_all(); ++i) std::this_thread::sleep_for(kPause);
  std::lock_guard lock(mutex_);
  std::vector<MetricLabel> labels;
  for (const auto& [name, known] : families_) {
    const std::shared_ptr<Family> family = known.lock();
    if (family == nullptr) continue;
    sink.family(name, family->help_, family->kind_);
    for (const auto& [of, weak] : family->metrics_) {
      const std::shared_ptr<CustomMetric> metric = weak.lock();
      if (metric == nullptr) continue;
      labels.clear();
      for (const auto& [label, value] : of) labels.push_back({label, value});
      metric->show(sink, labels);
    }
  }
}

}  // namespace atl::python
