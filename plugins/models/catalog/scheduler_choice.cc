#include "scheduler_choice.h"

#include <optional>
#include <utility>

#include "model_config.pb.h"

namespace atl::models {
namespace {

std::optional<SchedulerChoice> find_kind(Registry& registry, std::string_view kind, std::string* seen) {
  std::optional<SchedulerChoice> best;
  int32_t best_rank = 0;
  for (const ServiceInfo& info : registry.list(SchedulerProvider::kInterfaceId)) {
    auto provider = registry.find<SchedulerProvider>(info.instance);
    if (!provider.ok()) continue;  // it was withdrawn meanwhile
    std::string found((*provider)->kind());
    *seen += cat(seen->empty() ? "" : ", ", "'", found, "'");
    if (found != kind || (best && info.rank <= best_rank)) continue;
    best_rank = info.rank;
    best.emplace(SchedulerChoice{std::move(provider).value(), info.instance, std::move(found)});
  }
  return best;
}

}  // namespace

std::string_view wanted_scheduler_kind(const inference::ModelConfig& config) {
  if (config.has_ensemble_scheduling()) return "ensemble";
  if (config.has_dynamic_batching()) return "dynamic";
  if (!config.has_sequence_batching()) return "default";
  return config.sequence_batching().has_oldest() ? "sequence_oldest" : "sequence_direct";
}

Result<SchedulerChoice> choose_scheduler(Registry& registry, std::string_view kind, std::string_view model) {
  std::string seen;
  std::optional<SchedulerChoice> choice = find_kind(registry, kind, &seen);
  if (!choice && kind == "dynamic") choice = find_kind(registry, "default", &seen);
  if (choice) return std::move(*choice);
  return unimplemented("model '", model, "' needs a scheduler of kind '", kind,
                       "', no enabled plugin provides one; provided: ",
                       seen.empty() ? std::string_view("none") : std::string_view(seen));
}

}  // namespace atl::models
