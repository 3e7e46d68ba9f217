#include "frontends/metrics/source_sink.h"

#include <prometheus/check_names.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "atoll/memory/memory.h"
#include "atoll/models/model_identifier.h"

namespace atl::frontends::metrics {
namespace {

/// Of a model as the catalog's have them: sources know it by its identifier only.
void split_identifier(Labels& labels) {
  const auto named = [&](std::string_view name) {
    return std::ranges::find(labels, name, &Labels::value_type::name);
  };
  const auto model = named("model");
  if (model == labels.end() || !is_model_identifier(model->value) || named("namespace") != labels.end())
    return;
  std::string repository(model_namespace_of(model->value));
  std::string name(model_name_of(model->value));
  model->value = std::move(name);
  labels.push_back({"namespace", std::move(repository)});
}

/// None: a number that a source has made up.
std::optional<prometheus::MetricType> type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return std::nullopt;
}

bool has_valid_buckets(const MetricHistogram& value) {
  return value.counts.size() == value.bounds.size() + 1 &&
         std::ranges::all_of(value.bounds, [](double bound) { return std::isfinite(bound); }) &&
         std::ranges::adjacent_find(value.bounds, std::greater_equal<>()) == value.bounds.end();
}

}  // namespace

void SourceSink::family(std::string_view name, std::string_view help, MetricKind kind) noexcept {
  current_ = nullptr;
  std::string key(name);
  if (auto known = families_.find(key); known != families_.end()) {
    if (known->second.kind == kind) current_ = &known->second;
    return;
  }
  if (families_.size() >= kMaxFamilies || !prometheus::CheckMetricName(key) || page_.has(name)) return;
  const auto type = type_of(kind);
  if (!type) return;
  current_ = &families_[key];
  current_->kind = kind;
  current_->id = page_.family(name, help, *type);
}

void SourceSink::sample(std::span<const MetricLabel> given, double value) noexcept {
  const bool is_histogram = current_ != nullptr && current_->kind == MetricKind::kHistogram;
  if (const auto labels = accepted(given, !is_histogram)) page_.value(current_->id, *labels, value);
}

void SourceSink::histogram(std::span<const MetricLabel> given, const MetricHistogram& value) noexcept {
  const bool is_histogram = current_ != nullptr && current_->kind == MetricKind::kHistogram;
  const bool has_le = std::ranges::find(given, "le", &MetricLabel::name) != given.end();
  const auto labels = accepted(given, is_histogram && !has_le && has_valid_buckets(value));
  if (!labels) return;
  prometheus::ClientMetric::Histogram shown;
  shown.sample_sum = value.sum;
  for (size_t i = 0; i < value.counts.size(); ++i) {
    shown.sample_count += value.counts[i];
    const bool is_last = i == value.bounds.size();
    const double bound = is_last ? std::numeric_limits<double>::infinity() : value.bounds[i];
    shown.bucket.push_back({shown.sample_count, bound});
  }
  page_.histogram(current_->id, *labels, std::move(shown));
}

std::optional<Labels> SourceSink::accepted(std::span<const MetricLabel> given, bool is_of_its_kind) noexcept {
  Labels labels;
  labels.reserve(given.size());
  bool valid = current_ != nullptr && is_of_its_kind;
  for (const MetricLabel& label : given) {
    labels.push_back({std::string(label.name), utf8_text(label.value)});
    valid = valid && prometheus::CheckLabelName(labels.back().name);
  }
  split_identifier(labels);
  std::sort(labels.begin(), labels.end());
  const auto same_name = [](const auto& a, const auto& b) { return a.name == b.name; };
  valid = valid && std::adjacent_find(labels.begin(), labels.end(), same_name) == labels.end();
  std::string key;
  for (const auto& label : labels) {
    key += label.name;
    key += '\0';
    key += label.value;
    key += '\0';
  }
  if (valid && current_->label_sets.insert(std::move(key)).second) return labels;
  page_.count_left_out();
  return std::nullopt;
}

void write_sources(Registry& registry, Page& page) {
  SourceSink sink(page);
  for (const ServiceInfo& info : registry.list(MetricSource::kInterfaceId)) {
    Result<Service<MetricSource>> source = registry.find<MetricSource>(info.instance);
    if (!source.ok()) continue;  // it has just gone
    (*source)->collect(sink);
    sink.end_source();
  }
}

void write_pinned_memory(Registry& registry, Page& page) {
  Result<Service<Memory>> memory = memory_of(registry, MemoryKind::kCpuPinned);
  if (!memory.ok()) return;
  page.gauge("nv_pinned_memory_pool_total_bytes", "Pinned memory pool total memory size, in bytes",
             static_cast<double>((*memory)->limit_bytes()));
  page.gauge("nv_pinned_memory_pool_used_bytes", "Pinned memory pool used memory size, in bytes",
             static_cast<double>((*memory)->used_bytes()));
}

}  // namespace atl::frontends::metrics
