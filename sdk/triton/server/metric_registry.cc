#include "server/metric_registry.h"

#include <algorithm>
#include <cmath>

#include "atoll/triton/host.h"

namespace atl::triton {
namespace {

/// As Prometheus has them.
bool is_name(std::string_view text, bool with_colons) noexcept {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || (with_colons && c == ':');
  });
}

Status check_labels(const MetricLabels& labels, MetricKind kind) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string& name = labels[i].first;
    if (!is_name(name, false) || name.starts_with("__") || (kind == MetricKind::kHistogram && name == "le")) {
      return atl::invalid_argument("no label of a metric can have the name '", name, "'");
    }
    if (i != 0 && name == labels[i - 1].first) {
      return atl::invalid_argument("label '", name, "' is there twice");
    }
  }
  return {};
}

Status check_bounds(const std::vector<double>& bounds) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (!std::isfinite(bounds[i]) || (i != 0 && bounds[i] <= bounds[i - 1])) {
      return atl::invalid_argument("bucket ", i, " of a histogram ends at ", bounds[i],
                                   ", expected finite numbers that ascend");
    }
  }
  return {};
}

}  // namespace

void MetricSeries::observe(double value) noexcept {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  std::lock_guard lock(mutex_);
  ++counts_[static_cast<size_t>(bucket)];
  sum_ += value;
}

void MetricSeries::show_histogram(MetricSink& sink, std::span<const MetricLabel> labels) const {
  std::lock_guard lock(mutex_);
  sink.histogram(labels, {bounds_, counts_, sum_});
}

MetricRegistry& MetricRegistry::instance() {
  static auto* const registry = new MetricRegistry;
  return *registry;
}

Result<MetricFamilyEntry*> MetricRegistry::family(const std::string& name, const std::string& help,
                                                  MetricKind kind) {
  if (!is_name(name, true)) return atl::invalid_argument("no metric can have the name '", name, "'");
  std::lock_guard lock(mutex_);
  auto [found, is_new] = families_.try_emplace(name);
  MetricFamilyEntry& entry = found->second;
  if (is_new) {
    entry.help = help;
    entry.kind = kind;
  } else if (entry.kind != kind) {
    return atl::invalid_argument("metric family '", name, "' is registered with another kind");
  }
  return &entry;
}

Result<MetricSeries*> MetricRegistry::take(MetricFamilyEntry& family, const MetricLabels& labels,
                                           std::vector<double> bounds) {
  ATOLL_RETURN_IF_ERROR(check_labels(labels, family.kind));
  ATOLL_RETURN_IF_ERROR(check_bounds(bounds));
  std::lock_guard lock(mutex_);
  auto found = family.series.find(labels);
  if (found == family.series.end()) {
    found = family.series.emplace(labels, std::make_unique<MetricSeries>(std::move(bounds))).first;
  }
  ++found->second->users_;
  return found->second.get();
}

void MetricRegistry::give_back(MetricFamilyEntry& family, MetricSeries& series) noexcept {
  std::lock_guard lock(mutex_);
  if (--series.users_ != 0) return;
  std::erase_if(family.series, [&](const auto& entry) { return entry.second.get() == &series; });
}

void MetricRegistry::collect(MetricSink& sink) const noexcept {
  std::vector<MetricLabel> labels;
  std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) {
    if (family.series.empty()) continue;
    sink.family(name, family.help, family.kind);
    for (const auto& [names, series] : family.series) {
      labels.clear();
      for (const auto& [label, value] : names) labels.push_back({label, value});
      if (family.kind == MetricKind::kHistogram) {
        series->show_histogram(sink, labels);
      } else {
        sink.sample(labels, series->value());
      }
    }
  }
}

void collect_metrics(MetricSink& sink) noexcept { MetricRegistry::instance().collect(sink); }

struct MetricScopes {
  static constinit inline std::mutex mutex;
  static constinit inline MetricScope* oldest = nullptr;

  /// Where it hangs, or would be hung.
  static MetricScope** place_of(const MetricScope* scope) noexcept {
    MetricScope** at = &oldest;
    while (*at != scope) at = &(*at)->newer_;
    return at;
  }
};

MetricScope::MetricScope() noexcept {
  std::lock_guard lock(MetricScopes::mutex);
  *MetricScopes::place_of(nullptr) = this;
}
MetricScope::~MetricScope() {
  std::lock_guard lock(MetricScopes::mutex);
  *MetricScopes::place_of(this) = newer_;
}

void MetricScope::collect(MetricSink& sink) const noexcept {
  {
    std::lock_guard lock(MetricScopes::mutex);
    if (MetricScopes::oldest != this) return;
  }
  collect_metrics(sink);
}

}  // namespace atl::triton
