#include "frontends/metrics/model_facts.h"

#include <prometheus/check_names.h>

#include <algorithm>
#include <cmath>

#include "atoll/models/model_identifier.h"
#include "atoll/proto/parse_model_config.h"

namespace atl::frontends::metrics {
namespace {

constexpr std::string_view kFirstResponse = "nv_inference_first_response_histogram_ms";
constexpr int kMaxBounds = 100;

std::vector<double> first_response_bounds(const inference::ModelConfig& config, const std::string& model,
                                          Log& log) {
  std::vector<double> bounds = {100, 500, 2000, 5000};
  for (const auto& control : config.model_metrics().metric_control()) {
    if (control.metric_identifier().family() != kFirstResponse) {
      log.warning("model '", model, "': metric family '", control.metric_identifier().family(),
                  "' in model_metrics is not customizable; expected ", kFirstResponse);
      continue;
    }
    if (control.histogram_options().buckets().empty()) continue;
    const auto& buckets = control.histogram_options().buckets();
    const bool ascending = std::adjacent_find(buckets.begin(), buckets.end(),
                                              [](double a, double b) { return !(a < b); }) == buckets.end();
    if (buckets.size() > kMaxBounds || !ascending ||
        !std::all_of(buckets.begin(), buckets.end(), [](double bound) { return std::isfinite(bound); })) {
      log.warning("model '", model, "': the buckets of ", kFirstResponse,
                  " in model_metrics are not used; expected at most ", kMaxBounds,
                  " finite, ascending bounds");
      continue;
    }
    bounds.assign(buckets.begin(), buckets.end());
  }
  return bounds;
}

}  // namespace

ModelFacts read_model_facts(std::string_view name, int64_t version, std::string_view serialized, Log& log) {
  ModelFacts facts;
  const std::string model = utf8_text(name);
  inference::ModelConfig config;
  if (!proto::parse_model_config(serialized, &config)) {
    log.warning("model '", model, "': its configuration cannot be read; its metrics have no tags");
    config.Clear();
  }
  facts.labels = {{"model", utf8_text(model_name_of(name))}, {"version", std::to_string(version)}};
  if (is_model_identifier(name)) facts.labels.push_back({"namespace", utf8_text(model_namespace_of(name))});
  for (const auto& [tag, value] : config.metric_tags()) {
    std::string label = "_" + tag;
    if (!prometheus::CheckLabelName(label)) {
      log.warning("model '", model, "': metric tag '", tag,
                  "' is left out; expected letters, digits and underscores, with none first");
      continue;
    }
    facts.labels.push_back({std::move(label), utf8_text(value)});
  }
  std::sort(facts.labels.begin(), facts.labels.end());
  facts.decoupled = config.model_transaction_policy().decoupled();
  facts.response_cache = config.response_cache().enable();
  facts.first_response_bounds_ms = first_response_bounds(config, model, log);
  return facts;
}

const ModelFacts* ModelFactsCache::find(ModelCatalog& catalog, const std::string& name, int64_t version) {
  const std::pair key(name, version);
  auto known = entries_.find(key);
  Result<ModelRef> model = catalog.acquire(name, version);
  if (!model.ok()) {
    if (known == entries_.end() || !catalog.exiting()) return nullptr;
    known->second.used = true;
    return &known->second.facts;
  }
  const std::string& config = (*model)->info().config;
  if (known == entries_.end() || known->second.config != config) {
    known =
        entries_.insert_or_assign(key, Entry{config, read_model_facts(name, version, config, log_)}).first;
  }
  known->second.used = true;
  return &known->second.facts;
}

void ModelFactsCache::forget_unused() {
  std::erase_if(entries_, [](const auto& entry) { return !entry.second.used; });
  for (auto& [key, entry] : entries_) entry.used = false;
}

}  // namespace atl::frontends::metrics
