#include "frontends/metrics/source_sink.h"

#include <prometheus/check_names.h>

#include <algorithm>

#include "atoll/memory.h"
#include "atoll/model_identifier.h"

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

}  // namespace

void SourceSink::family(std::string_view name, std::string_view help, MetricKind kind) noexcept {
  current_ = nullptr;
  std::string key(name);
  if (auto known = families_.find(key); known != families_.end()) {
    if (known->second.kind == kind) current_ = &known->second;
    return;
  }
  if (families_.size() >= kMaxFamilies || !prometheus::CheckMetricName(key) || page_.has(name)) return;
  const auto type =
      kind == MetricKind::kCounter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  current_ = &families_[key];
  current_->kind = kind;
  current_->id = page_.family(name, help, type);
}

void SourceSink::sample(std::span<const MetricLabel> given, double value) noexcept {
  Labels labels;
  labels.reserve(given.size());
  bool valid = current_ != nullptr;
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
  if (!valid || !current_->label_sets.insert(std::move(key)).second) return page_.count_left_out();
  page_.value(current_->id, labels, value);
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
