#include "backends/python/calls/metric_calls.h"

#include <bit>
#include <cmath>
#include <utility>

#include "backends/python/calls/json_message.h"

namespace atl::python {
namespace {

uint32_t number_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint32_t>() : UINT32_MAX;
}

CustomLabels labels_in(const nlohmann::json& object) {
  CustomLabels labels;
  const auto found = object.find("labels");
  if (found == object.end() || !found->is_object()) return labels;
  for (const auto& [name, value] : found->items()) {
    if (value.is_string()) labels.emplace(name, value.get<std::string>());
  }
  return labels;
}

std::vector<double> buckets_in(const nlohmann::json& object) {
  std::vector<double> bounds;
  const auto found = object.find("buckets");
  if (found == object.end() || !found->is_array()) return bounds;
  for (const nlohmann::json& bound : *found) {
    if (bound.is_number()) bounds.push_back(bound.get<double>());
  }
  return bounds;
}

}  // namespace

Status MetricCalls::take(const WorkerMemory& memory, const RingMessage& message, Replies& replies) {
  switch (message.type) {
    case MessageType::kMetricFamily:
    case MessageType::kMetric: {
      const bool is_family = message.type == MessageType::kMetricFamily;
      Result<uint32_t> number = is_family ? make_family(memory, message) : make_metric(memory, message);
      release_payload(memory, message);
      replies.send(message.id, number.ok() ? *number : 0, number.ok() ? Status() : number.status().clone());
      return {};
    }
    case MessageType::kMetricValue: {
      const auto found = metrics_.find(message.slab);
      if (found == metrics_.end())
        return invalid_argument("found metric ", message.slab, ", which there is not");
      replies.send(message.id, std::bit_cast<uint64_t>(found->second->value()));
      return {};
    }
    case MessageType::kMetricUpdate:
      update(message);
      return {};
    case MessageType::kMetricGone:
      metrics_.erase(message.slab);
      return {};
    default:
      families_.erase(message.slab);
      return {};
  }
}

Result<uint32_t> MetricCalls::make_family(const WorkerMemory& memory, const RingMessage& message) {
  Result<nlohmann::json> object = read_json(memory, message);
  if (!object.ok()) return std::move(object).status();
  const uint32_t kind = number_in(*object, "kind");
  if (kind > static_cast<uint32_t>(MetricKind::kHistogram))
    return invalid_argument("found ", kind, " as kind of a metric");
  if (families_.size() >= kMost) return invalid_argument("a worker has ", kMost, " metric families at most");
  auto family = registry_.family(text_in(*object, "name"), text_in(*object, "description"),
                                 static_cast<MetricKind>(kind));
  if (!family.ok()) return std::move(family).status();
  families_[next_] = std::move(family).value();
  return next_++;
}

Result<uint32_t> MetricCalls::make_metric(const WorkerMemory& memory, const RingMessage& message) {
  Result<nlohmann::json> object = read_json(memory, message);
  if (!object.ok()) return std::move(object).status();
  const auto family = families_.find(number_in(*object, "family"));
  if (family == families_.end()) return invalid_argument("found a metric of a family that there is not");
  if (metrics_.size() >= kMost) return invalid_argument("a worker has ", kMost, " metrics at most");
  auto metric = registry_.metric(*family->second, labels_in(*object), buckets_in(*object));
  if (!metric.ok()) return std::move(metric).status();
  metrics_[next_] = std::move(metric).value();
  return next_++;
}

/// One that is not there any more was given up while this was on its way.
void MetricCalls::update(const RingMessage& message) {
  const auto found = metrics_.find(message.slab);
  const double value = std::bit_cast<double>(message.value);
  if (found == metrics_.end()) return;
  CustomMetric& metric = *found->second;
  switch (static_cast<MetricUpdate>(message.flags)) {
    case MetricUpdate::kIncrement:
      if (metric.kind() == MetricKind::kGauge || (metric.kind() == MetricKind::kCounter && value >= 0))
        metric.add(value);
      break;
    case MetricUpdate::kSet:
      if (metric.kind() == MetricKind::kGauge) metric.set(value);
      break;
    case MetricUpdate::kObserve:
      if (metric.kind() == MetricKind::kHistogram) metric.observe(value);
      break;
  }
}

}  // namespace atl::python
