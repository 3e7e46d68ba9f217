// What takes versions out of service: unloads, and services that come and go.
#include <utility>

#include "models/catalog/loading/failure_text.h"
#include "models/catalog/states/lifecycle.h"

namespace atl::models {

bool Lifecycle::current(const Attempt& attempt) const {
  const ModelRecord* record = records_.find(attempt.model);
  return !ending_ && record != nullptr && record->operation == attempt.operation;
}

Status Lifecycle::outdated() const {
  return Status(
      Code::kAborted,
      "Newer operation has been applied to the model lifecycle, current load operation is out-dated.");
}

void Lifecycle::unload_locked(const std::string& model, const std::string& reason,
                              std::vector<LoadDone>* cancelled) {
  ModelRecord* record = records_.find(model);
  if (record == nullptr) return;
  record->operation = ++last_operation_;
  record->failure.clear();
  record->logged_failure.clear();
  record->missing_interface.clear();
  record->missing_name.clear();
  record->suspended = false;
  for (LoadOrder& order : record->waiting) {
    for (LoadDone& done : order.told) cancelled->push_back(std::move(done));
  }
  record->waiting.clear();

  bool was_ready = record->has_ready();
  for (auto& [version, state] : record->versions) {
    if (state.state == ModelState::kReady) {
      state.served = nullptr;
      state.end_reason = reason;
      records_.set_state(model, version, ModelState::kUnloading, "");
    } else if (state.state != ModelState::kUnloading && state.reason != reason) {
      records_.set_state(model, version, ModelState::kUnavailable, reason);
    }
  }
  if (was_ready) table_.publish(model, {});
  for (const std::string& above : ensembles_above(records_, model)) {
    ModelRecord* ensemble = records_.find(above);
    if (!ensemble->has_ready() && !ensemble->loading) continue;
    unload_locked(above, cat("ensemble '", above, "' depends on '", model, "' which has no loaded version."),
                  cancelled);
    records_.find(above)->suspended = true;
  }
  records_.forget_if_empty(model);
}

void Lifecycle::unload_by_name_locked(const std::string& model, std::vector<LoadDone>* cancelled) {
  if (ModelRecord* record = records_.find(model); record != nullptr) {
    record->loaded = nullptr;  // what a client made it ends; what went with a member or a service comes back
    record->requested = false;
  }
  unload_locked(model, std::string(kUnloadedReason), cancelled);
}

void Lifecycle::unload_members_locked(const std::vector<EnsembleMember>& members,
                                      std::vector<LoadDone>* cancelled) {
  for (const EnsembleMember& member : members) {
    const ModelRecord* record = records_.find(member.model);
    if (record == nullptr || record->requested || (!record->has_ready() && !record->loading)) continue;
    if (is_used_by_ensemble(records_, member.model)) continue;
    std::vector<EnsembleMember> below = record->members;
    unload_by_name_locked(member.model, cancelled);
    unload_members_locked(below, cancelled);
  }
}

bool Lifecycle::changed_since(const Attempt& attempt, std::string_view interface_id,
                              std::string_view instance, ServiceChanged::Kind kind) const {
  if (!instance.empty()) {
    auto found = changes_.find(FixedText<256>(cat(interface_id, " ", instance)).view());
    return found != changes_.end() && found->second.number > attempt.services_seen &&
           found->second.kind == kind;
  }
  for (const auto& [key, change] : changes_) {
    if (change.number > attempt.services_seen && change.kind == kind && key.starts_with(interface_id)) {
      return true;
    }
  }
  return false;
}

/// Whether what a load failed for want of came while it was failing.
bool Lifecycle::may_go_well_since(const Attempt& attempt, const MissingService& missing) const {
  using Kind = ServiceChanged::Kind;
  if (missing.interface_id.empty()) return false;
  if (changed_since(attempt, missing.interface_id, {}, Kind::kPublished)) return true;
  if (missing.interface_id != ExecutionAdmission::kInterfaceId) return false;
  return changed_since(attempt, missing.interface_id, {}, Kind::kReplaced) ||
         changed_since(attempt, missing.interface_id, {}, Kind::kWithdrawn);
}

bool Lifecycle::uses_backend(const ModelRecord& record, const ServiceChanged& event) const {
  for (const auto& [version, state] : record.versions) {
    if (state.served != nullptr && state.served->parts().backend_instance == event.instance.view())
      return true;
  }
  return false;
}

bool Lifecycle::admission_changed_since(const Attempt& attempt, const ModelParts& parts) const {
  using Kind = ServiceChanged::Kind;
  constexpr std::string_view kId = ExecutionAdmission::kInterfaceId;
  if (parts.scheduled.empty()) return false;  // nothing is executed
  const std::string& plugin = parts.admission.plugin();
  if (plugin.empty()) return changed_since(attempt, kId, {}, Kind::kPublished);
  return changed_since(attempt, kId, plugin, Kind::kReplaced) ||
         changed_since(attempt, kId, plugin, Kind::kWithdrawn);
}

bool Lifecycle::is_admitted_otherwise(const ModelRecord& record, const ServiceChanged& event) const {
  bool published = event.kind == ServiceChanged::Kind::kPublished;
  for (const auto& [version, state] : record.versions) {
    if (state.served == nullptr || state.served->parts().scheduled.empty()) continue;
    std::string_view plugin = state.served->parts().admission.plugin();
    if (published ? plugin.empty() : plugin == event.instance.view()) return true;
  }
  return false;
}

/// Who executes is built on the admission that there is now, or on none; so is who was refused by the last
/// one.
void Lifecycle::admission_changed(const ServiceChanged& event) {
  std::vector<std::string> reload;
  {
    std::scoped_lock lock(mutex_);
    changes_[std::string(event.key())] = {++last_change_, event.kind};
    if (ending_) return;
    for (const auto& [model, record] : records_.all()) {
      const bool was_refused = record.missing_interface == event.interface_id.view() && !record.loading;
      if (was_refused || is_admitted_otherwise(record, event)) reload.push_back(model);
    }
  }
  for (const std::string& model : reload) rebuild(model);
}

void Lifecycle::backend_changed(const ServiceChanged& event) {
  std::vector<std::string> reload;
  std::vector<std::string> remove;
  std::vector<LoadDone> cancelled;
  const std::string reason = cat("backend '", event.instance.view(), "' was removed");
  {
    std::scoped_lock lock(mutex_);
    changes_[std::string(event.key())] = {++last_change_, event.kind};
    if (ending_) return;
    for (const auto& [model, record] : records_.all()) {
      if (event.kind == ServiceChanged::Kind::kPublished) {
        const bool is_missing = record.missing_interface == event.interface_id.view() &&
                                record.missing_name == event.instance.view();
        if (!record.loading && is_missing) reload.push_back(model);
      } else if (uses_backend(record, event)) {
        (event.kind == ServiceChanged::Kind::kReplaced ? reload : remove).push_back(model);
      }
    }
    const MissingService gone{event.interface_id.view(), std::string(event.instance.view())};
    for (const std::string& model : remove) take_down_locked(model, gone, reason, &cancelled);
  }
  tell_taken_down(remove, reason, cancelled);
  for (const std::string& model : reload) rebuild(model);
}

/// With the lock held. The model comes back with a service of that interface.
void Lifecycle::take_down_locked(const std::string& model, const MissingService& gone,
                                 const std::string& reason, std::vector<LoadDone>* cancelled) {
  unload_locked(model, reason, cancelled);
  ModelRecord* record = records_.find(model);
  if (record == nullptr) return;
  record->missing_interface = gone.interface_id;
  record->missing_name = gone.name;
}

void Lifecycle::tell_taken_down(const std::vector<std::string>& models, const std::string& reason,
                                const std::vector<LoadDone>& cancelled) {
  for (const LoadDone& done : cancelled) done({outdated(), true});
  for (const std::string& model : models) {
    host_.log().warning("model '", model, "' is taken out of service: ", reason);
  }
}

void Lifecycle::service_changed(const ServiceChanged& event) {
  const std::string_view interface_id = event.interface_id.view();
  if (interface_id == ExecutionAdmission::kInterfaceId) return admission_changed(event);
  if (interface_id == SchedulerProvider::kInterfaceId) return scheduler_changed(event);
  if (interface_id == Backend::kInterfaceId) return backend_changed(event);
}

void Lifecycle::ended(const std::string& model, int64_t version, uint64_t object, bool destroyed) {
  destroyed ? memory_.version_ended() : memory_.version_ends();
  std::vector<LoadDone> told;
  {
    std::scoped_lock lock(mutex_);
    if (destroyed) {
      note_ended(model, version, object, &told);
    } else {
      live_.erase(object);
    }
  }
  for (const LoadDone& done : told) done({{}, true});
}

/// With the lock held.
void Lifecycle::note_ended(const std::string& model, int64_t version, uint64_t object,
                           std::vector<LoadDone>* told) {
  if (auto departing = departures_.extract(object); !departing.empty()) {
    Departure& departure = *departing.mapped();
    if (--departure.left == 0) *told = std::move(departure.told);
  }
  if (succeeded_.erase(object) == 0) {
    host_.log().info("successfully unloaded '", model, "' version ", version);
  }
  ModelRecord* record = records_.find(model);
  if (record == nullptr) return;
  auto found = record->versions.find(version);
  if (found == record->versions.end() || found->second.object != object) return;
  if (found->second.state != ModelState::kUnloading) return;
  records_.set_state(model, version, ModelState::kUnavailable, found->second.end_reason);
  records_.trim();
}

}  // namespace atl::models
