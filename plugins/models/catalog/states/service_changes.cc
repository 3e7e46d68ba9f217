#include "models/catalog/states/service_changes.h"

#include <algorithm>
#include <utility>

namespace atl::models {
namespace {

using Kind = ServiceChanged::Kind;

/// "backend" of "atoll.backend/1".
std::string_view noun_of(std::string_view interface_id) {
  interface_id = interface_id.substr(0, interface_id.find('/'));
  return interface_id.substr(interface_id.find('.') + 1);
}

Effect effect_of(const ChangedService& change, const Dependency& dependency) {
  const bool came = change.kind == Kind::kPublished;
  if (dependency.instance.empty()) return came ? Effect::kRebuild : Effect::kNone;
  if (came || dependency.instance != change.instance) return Effect::kNone;
  const bool stays = change.kind == Kind::kReplaced || dependency.kind == Dependency::Kind::kOptional;
  return stays ? Effect::kRebuild : Effect::kTakeDown;
}

/// Whether the version has it already: the news that it has come may be slower than the version's load.
bool has(const ModelParts& parts, const ChangedService& change) {
  return std::any_of(parts.dependencies.begin(), parts.dependencies.end(), [&](const Dependency& dependency) {
    return dependency.interface_id == change.interface_id && dependency.instance == change.instance;
  });
}

}  // namespace

std::string removal_text(const ChangedService& change) {
  return cat(noun_of(change.interface_id), " '", change.instance, "' was removed");
}

Consequence consequence_of(const ChangedService& change, const ModelParts& parts,
                           std::span<SchedulerOffer> offers) {
  Consequence gravest;
  for (const Dependency& dependency : parts.dependencies) {
    if (dependency.interface_id != change.interface_id) continue;
    if (dependency.instance.empty() && has(parts, change)) continue;
    Consequence one{effect_of(change, dependency), &dependency};
    if (dependency.kind == Dependency::Kind::kChosen) {
      auto choice = choose_scheduler(offers, parts.wanted_scheduler, parts.info->name);
      if (choice.ok()) {
        const bool is_same = (*choice)->provider.get() == parts.scheduler_provider.get();
        one.effect = is_same ? Effect::kNone : Effect::kReschedule;
        one.scheduler = (*choice)->instance;
      }
    }
    if (one.effect > gravest.effect) gravest = std::move(one);
  }
  return gravest;
}

bool may_help(const ChangedService& change, const Want& want) {
  return want.interface_id == change.interface_id && (want.any_change || change.kind == Kind::kPublished) &&
         (want.instance.empty() || want.instance == change.instance);
}

Want want_of(const Dependency& gone) {
  // Where there was a choice, another one will do.
  return {gone.interface_id, gone.kind == Dependency::Kind::kChosen ? std::string() : gone.instance};
}

void ServiceChanges::note(const ChangedService& change) {
  changes_[{std::string(change.interface_id), std::string(change.instance)}] = {++last_, change.kind};
}

std::vector<ChangedService> ServiceChanges::since(uint64_t then) const {
  std::vector<ChangedService> newer;
  if (then == last_) return newer;
  for (const auto& [service, change] : changes_) {
    if (change.number > then) newer.push_back({service.first, service.second, change.kind});
  }
  return newer;
}

const Dependency* ServiceChanges::lost(const ModelParts& parts) const {
  for (const Dependency& dependency : parts.dependencies) {
    if (dependency.kind == Dependency::Kind::kOptional) continue;
    auto change = changes_.find({std::string(dependency.interface_id), dependency.instance});
    if (change != changes_.end() && change->second.kind == Kind::kWithdrawn) return &dependency;
  }
  return nullptr;
}

}  // namespace atl::models
