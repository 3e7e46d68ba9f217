// Which scheduler a loaded model has follows which there are.
#include <utility>

#include "models/catalog/states/lifecycle.h"

namespace atl::models {
namespace {

constexpr std::string_view kId = SchedulerProvider::kInterfaceId;

}  // namespace

/// The provider was withdrawn and lives for the sake of what it serves.
bool Lifecycle::scheduler_is_gone(const ModelParts& parts) const {
  auto found = changes_.find(FixedText<256>(cat(kId, " ", parts.scheduler_instance)).view());
  return found != changes_.end() && found->second.kind == ServiceChanged::Kind::kWithdrawn;
}

/// What a version that was just built can not be served without.
MissingService Lifecycle::gone_since(const Attempt& attempt, const ModelParts& parts) const {
  if (!parts.backend_instance.empty() && changed_since(attempt, Backend::kInterfaceId, parts.backend_instance,
                                                       ServiceChanged::Kind::kWithdrawn)) {
    return {Backend::kInterfaceId, parts.backend_instance};
  }
  const bool has_none =
      scheduler_is_gone(parts) && !choose_scheduler(schedulers_, parts.scheduler_wish, attempt.model).ok();
  return has_none ? MissingService{kId, parts.scheduler_instance} : MissingService{};
}

/// Whether a version that was just built would be given another scheduler now.
bool Lifecycle::scheduler_changed_since(const Attempt& attempt, const ModelParts& parts) const {
  bool any = false;
  for (const auto& [key, change] : changes_) {
    any |= change.number > attempt.services_seen && key.starts_with(kId);
  }
  if (!any) return false;
  auto choice = choose_scheduler(schedulers_, parts.scheduler_wish, attempt.model);
  return choice.ok() && choice->provider != parts.scheduler_provider.get();
}

Lifecycle::SchedulerMove Lifecycle::move_of(const std::string& model, const ModelRecord& record,
                                            const ServiceChanged& event) const {
  using Kind = SchedulerMove::Kind;
  const bool came = event.kind == ServiceChanged::Kind::kPublished;
  if (came && !record.loading && record.missing_interface == kId) return {Kind::kLoad};
  for (const auto& [version, state] : record.versions) {
    if (state.served == nullptr) continue;
    const ModelParts& parts = state.served->parts();
    auto choice = choose_scheduler(schedulers_, parts.scheduler_wish, model);
    if (choice.ok() && choice->provider != parts.scheduler_provider.get()) {
      return {Kind::kMove, parts.scheduler_instance, choice->instance};
    }
    if (!choice.ok() && parts.scheduler_instance == event.instance.view()) {
      // One that was replaced by another kind goes on serving what it served until nothing is left.
      return {event.kind == ServiceChanged::Kind::kWithdrawn ? Kind::kTakeDown : Kind::kLoad};
    }
  }
  return {};
}

void Lifecycle::scheduler_changed(const ServiceChanged& event) {
  using Kind = SchedulerMove::Kind;
  std::vector<SchedulerOffer> offers = scheduler_offers(host_.registry());
  for (const SchedulerOffer& offer : offers) {
    if (event.kind != ServiceChanged::Kind::kPublished || offer.instance != event.instance.view()) continue;
    if (is_chosen_by_kind(offer.kind)) continue;
    host_.log().info("scheduler '", offer.instance, "' is of a kind of its own, '", offer.kind,
                     "': it serves the models whose parameter 'scheduler' names it");
  }
  std::vector<std::pair<std::string, SchedulerMove>> moves;
  std::vector<std::string> removed;
  std::vector<LoadDone> cancelled;
  const std::string reason = cat("scheduler '", event.instance.view(), "' was removed");
  {
    std::scoped_lock lock(mutex_);
    changes_[std::string(event.key())] = {++last_change_, event.kind};
    schedulers_ = std::move(offers);
    if (ending_) return;
    for (const auto& [model, record] : records_.all()) {
      SchedulerMove move = move_of(model, record, event);
      if (move.kind == Kind::kTakeDown) removed.push_back(model);
      if (move.kind == Kind::kLoad || move.kind == Kind::kMove) moves.emplace_back(model, std::move(move));
    }
    const MissingService gone{kId, std::string(event.instance.view())};
    for (const std::string& model : removed) take_down_locked(model, gone, reason, &cancelled);
  }
  tell_taken_down(removed, reason, cancelled);
  for (auto& [model, move] : moves) {
    if (move.kind == Kind::kLoad) {
      rebuild(model);
      continue;
    }
    if (move.from != move.to) {
      host_.log().info("model '", model, "': scheduler '", move.to, "' takes over from '", move.from, "'");
    }
    start_load(model, reschedule_order());
  }
}

/// A load of the model has failed. If it was to take the model off a scheduler that has gone, the model goes,
/// too: it would keep the plugin from ending. With the lock held.
void Lifecycle::take_down_stranded(const std::string& model, const std::string& failure,
                                   std::vector<LoadDone>* cancelled) {
  const ModelRecord* record = records_.find(model);
  if (!record->waiting.empty()) return;  // the next load decides
  for (const auto& [version, state] : record->versions) {
    if (state.served == nullptr || !scheduler_is_gone(state.served->parts())) continue;
    const std::string gone = state.served->parts().scheduler_instance;
    return take_down_locked(model, {kId, gone},
                            cat("scheduler '", gone, "' was removed, and without it: ", failure), cancelled);
  }
}

}  // namespace atl::models
