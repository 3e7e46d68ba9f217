#include "models/catalog/serving/scheduler_choice.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model_config.pb.h"

namespace atl::models {
namespace {

constexpr std::string_view kParameter = "scheduler";
constexpr std::string_view kDefault = "default";
constexpr std::string_view kDynamic = "dynamic";
constexpr std::array<std::string_view, 5> kKinds = {kDefault, kDynamic, "sequence_direct", "sequence_oldest",
                                                    "ensemble"};

std::string_view wanted_kind(const inference::ModelConfig& config) {
  if (config.has_ensemble_scheduling()) return "ensemble";
  if (config.has_dynamic_batching()) return kDynamic;
  if (!config.has_sequence_batching()) return kDefault;
  return config.sequence_batching().has_oldest() ? "sequence_oldest" : "sequence_direct";
}

std::string list_of(const std::vector<SchedulerOffer>& offers) {
  std::string list;
  for (const SchedulerOffer& offer : offers) {
    list += cat(list.empty() ? "" : ", ", "'", offer.instance, "' (kind '", offer.kind, "')");
  }
  return list.empty() ? "none" : list;
}

const SchedulerOffer* find_kind(const std::vector<SchedulerOffer>& offers, std::string_view kind) {
  const SchedulerOffer* best = nullptr;
  for (const SchedulerOffer& offer : offers) {
    if (offer.kind == kind && (best == nullptr || offer.rank > best->rank)) best = &offer;
  }
  return best;
}

Result<SchedulerOffer> choose_named(const std::vector<SchedulerOffer>& offers, const SchedulerWish& wish,
                                    std::string_view model) {
  const auto named = std::find_if(offers.begin(), offers.end(), [&](const SchedulerOffer& offer) {
    return offer.instance == wish.instance;
  });
  if (named == offers.end()) {
    return unavailable(
        "model '", model, "' names scheduler '", wish.instance,
        "' in its parameter 'scheduler', no enabled plugin instance of this name provides one; "
        "provided: ",
        list_of(offers));
  }
  const bool fits = named->kind == wish.kind || !is_chosen_by_kind(named->kind) ||
                    (is_stateless(named->kind) && is_stateless(wish.kind));
  if (fits) return *named;
  return invalid_argument("model '", model, "' names scheduler '", wish.instance,
                          "' in its parameter 'scheduler', which is of kind '", named->kind,
                          "', but its configuration needs one of kind '", wish.kind,
                          "' or of a kind of its own");
}

}  // namespace

SchedulerWish scheduler_wish(const inference::ModelConfig& config) {
  SchedulerWish wish;
  wish.kind = wanted_kind(config);
  const auto parameter = config.parameters().find(std::string(kParameter));
  if (parameter != config.parameters().end()) wish.instance = parameter->second.string_value();
  return wish;
}

bool is_chosen_by_kind(std::string_view kind) noexcept {
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

bool is_stateless(std::string_view kind) noexcept { return kind == kDefault || kind == kDynamic; }

std::vector<SchedulerOffer> scheduler_offers(Registry& registry) {
  std::vector<SchedulerOffer> offers;
  for (const ServiceInfo& info : registry.list(SchedulerProvider::kInterfaceId)) {
    auto provider = registry.find<SchedulerProvider>(info.instance);
    if (!provider.ok()) continue;  // it was withdrawn meanwhile
    offers.push_back({info.instance, std::string((*provider)->kind()), info.rank, provider->get()});
  }
  return offers;
}

Result<SchedulerOffer> choose_scheduler(const std::vector<SchedulerOffer>& offers, const SchedulerWish& wish,
                                        std::string_view model) {
  if (!wish.instance.empty()) return choose_named(offers, wish, model);
  const SchedulerOffer* choice = find_kind(offers, wish.kind);
  if (choice == nullptr && wish.kind == kDynamic) choice = find_kind(offers, kDefault);
  if (choice != nullptr) return *choice;
  return unimplemented("model '", model, "' needs a scheduler of kind '", wish.kind,
                       "', no enabled plugin provides one; provided: ", list_of(offers));
}

Result<SchedulerChoice> find_scheduler(Registry& registry, const SchedulerWish& wish,
                                       std::string_view model) {
  std::vector<SchedulerOffer> offers = scheduler_offers(registry);
  for (;;) {
    Result<SchedulerOffer> chosen = choose_scheduler(offers, wish, model);
    if (!chosen.ok()) return std::move(chosen).status();
    auto provider = registry.find<SchedulerProvider>(chosen->instance);
    if (provider.ok()) return SchedulerChoice{std::move(provider).value(), std::move(chosen).value()};
    // It was withdrawn meanwhile.
    std::erase_if(offers, [&](const SchedulerOffer& offer) { return offer.instance == chosen->instance; });
  }
}

}  // namespace atl::models
