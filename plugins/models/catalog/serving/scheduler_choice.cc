#include "models/catalog/serving/scheduler_choice.h"

#include <algorithm>
#include <utility>

#include "model_config.pb.h"

namespace atl::models {
namespace {

constexpr char kParameter[] = "scheduler";

std::string_view demanded_kind(const inference::ModelConfig& config) {
  if (config.has_ensemble_scheduling()) return "ensemble";
  if (config.has_dynamic_batching()) return "dynamic";
  if (!config.has_sequence_batching()) return "default";
  return config.sequence_batching().has_oldest() ? "sequence_oldest" : "sequence_direct";
}

std::string list_of(std::span<const SchedulerOffer> offers) {
  std::string list;
  for (const SchedulerOffer& offer : offers) {
    list += cat(list.empty() ? "" : ", ", "'", offer.instance, "' (kind '", offer.provider->kind(), "')");
  }
  return list.empty() ? "none" : list;
}

Result<SchedulerOffer*> choose_named(std::span<SchedulerOffer> offers, const WantedScheduler& wanted,
                                     std::string_view model) {
  const auto named = std::find_if(offers.begin(), offers.end(), [&](const SchedulerOffer& offer) {
    return offer.instance == wanted.instance;
  });
  if (named == offers.end()) {
    return unavailable(
        "model '", model, "' names scheduler '", wanted.instance,
        "' in its parameter 'scheduler', no enabled plugin instance of this name provides one; provided: ",
        list_of(offers));
  }
  if (named->provider->serves(wanted.demand) != kDoesNotFit) return &*named;
  return invalid_argument("model '", model, "' names scheduler '", wanted.instance,
                          "' in its parameter 'scheduler', which is of kind '", named->provider->kind(),
                          "', but its configuration needs one of kind '", wanted.demand.kind,
                          "' or of a kind of its own");
}

}  // namespace

WantedScheduler wanted_scheduler(const inference::ModelConfig& config, std::string_view bytes) {
  WantedScheduler wanted;
  wanted.demand = {
      bytes,
      demanded_kind(config),
      {config.dynamic_batching().priority_levels(), config.dynamic_batching().default_priority_level()}};
  wanted.is_stateless = !config.has_sequence_batching() && !config.has_ensemble_scheduling();
  const auto parameter = config.parameters().find(kParameter);
  if (parameter != config.parameters().end()) wanted.instance = parameter->second.string_value();
  return wanted;
}

std::vector<SchedulerOffer> scheduler_offers(Registry& registry) {
  std::vector<SchedulerOffer> offers;
  for (const ServiceInfo& info : registry.list(SchedulerProvider::kInterfaceId)) {
    auto provider = registry.find<SchedulerProvider>(info.instance);
    if (!provider.ok()) continue;  // it was withdrawn meanwhile
    offers.push_back({info.instance, info.rank, std::move(provider).value()});
  }
  return offers;
}

Result<SchedulerOffer*> choose_scheduler(std::span<SchedulerOffer> offers, const WantedScheduler& wanted,
                                         std::string_view model) {
  if (!wanted.instance.empty()) return choose_named(offers, wanted, model);
  SchedulerOffer* best = nullptr;
  uint32_t best_fitness = kFitsIfNamed;
  for (SchedulerOffer& offer : offers) {
    const uint32_t fitness = offer.provider->serves(wanted.demand);
    const bool outranks = best != nullptr && fitness == best_fitness && offer.rank > best->rank;
    if (fitness <= best_fitness && !outranks) continue;
    best = &offer;
    best_fitness = fitness;
  }
  if (best != nullptr) return best;
  return unimplemented("model '", model, "' needs a scheduler of kind '", wanted.demand.kind,
                       "', no enabled plugin provides one; provided: ", list_of(offers));
}

}  // namespace atl::models
