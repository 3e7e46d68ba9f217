#include "models/catalog/states/lifecycle_state.h"

#include <memory>
#include <utility>

namespace atl::models {

Status outdated() {
  return Status(
      Code::kAborted,
      "Newer operation has been applied to the model lifecycle, current load operation is out-dated.");
}

void unload(LifecycleState& state, const std::string& model, const std::string& reason,
            std::vector<LoadDone>* cancelled) {
  ModelRecord* record = state.records.find(model);
  if (record == nullptr) return;
  record->operation = ++state.last_operation;
  record->forget_failure();
  for (LoadOrder& order : record->waiting) {
    for (LoadDone& done : order.callbacks) cancelled->push_back(std::move(done));
  }
  record->waiting.clear();

  const bool was_ready = record->has_ready();
  for (auto& [number, version] : record->versions) {
    if (version.state == VersionState::kReady) {
      release_agents(state, *version.served);
      state.records.begin_unload(model, number, reason);
    } else if (version.state != VersionState::kUnloading && version.reason != reason) {
      state.records.end(model, number, reason);
    }
  }
  if (was_ready) state.table.publish(model, {});
  for (const std::string& above : state.records.ensembles_above(model)) {
    ModelRecord* ensemble = state.records.find(above);
    if (!ensemble->has_ready() && !ensemble->loading) continue;
    unload(state, above, cat("ensemble '", above, "' depends on '", model, "' which has no loaded version."),
           cancelled);
    state.records.find(above)->suspended = true;
  }
  state.records.forget_if_empty(model);
}

void unload_by_name(LifecycleState& state, const std::string& model, std::vector<LoadDone>* cancelled) {
  if (ModelRecord* record = state.records.find(model); record != nullptr) {
    record->loaded = nullptr;  // what went with a member or a service comes back as it was
    record->requested = false;
  }
  unload(state, model, std::string(kUnloadedReason), cancelled);
}

void unload_members(LifecycleState& state, const std::vector<EnsembleMember>& members,
                    std::vector<LoadDone>* cancelled) {
  for (const EnsembleMember& member : members) {
    const ModelRecord* record = state.records.find(member.model);
    if (record == nullptr || record->requested || (!record->has_ready() && !record->loading)) continue;
    if (is_used_by_ensemble(state.records, member.model)) continue;
    std::vector<EnsembleMember> below = record->members;
    unload_by_name(state, member.model, cancelled);
    unload_members(state, below, cancelled);
  }
}

void release_agents(LifecycleState& state, const ServedModel& served) {
  const std::shared_ptr<AgentRun>& agents = served.parts().agents;
  if (agents == nullptr || !agents->remove_version()) return;
  Pass pass(state.host.gate());
  if (!pass) return;  // the end of the last version tells them
  state.host.workers().run(make_task([agents = std::weak_ptr(agents), pass = std::move(pass)] {
    if (std::shared_ptr<AgentRun> held = agents.lock(); held != nullptr) held->unload();
  }));
}

void take_down(LifecycleState& state, const std::string& model, Want want, const std::string& reason,
               std::vector<LoadDone>* cancelled) {
  unload(state, model, reason, cancelled);
  if (ModelRecord* record = state.records.find(model); record != nullptr) {
    record->wants.push_back(std::move(want));
  }
}

void notify_all(const std::vector<LoadDone>& callbacks, const Status& status, bool was_read) {
  for (const LoadDone& done : callbacks) done({status.clone(), was_read});
}

void version_ended(LifecycleState& state, const std::string& model, int64_t version, uint64_t object,
                   bool destroyed) {
  if (destroyed) {
    state.memory.version_ended();
  } else {
    state.memory.version_ends();
  }
  std::vector<LoadDone> callbacks;
  {
    std::scoped_lock lock(state.mutex);
    if (!destroyed) return state.live.ending(object);
    if (state.live.ended(object, &callbacks)) {
      state.host.log().info("successfully unloaded '", model, "' version ", version);
    }
    state.records.ended(model, version, object);
  }
  notify_all(callbacks, {}, true);
}

}  // namespace atl::models
