// How one load goes: read, built beside what serves, swapped in.
#include <algorithm>
#include <set>
#include <utility>

#include "atoll/guarded.h"
#include "models/catalog/loading/failure_text.h"
#include "models/catalog/loading/parallel_for.h"
#include "models/catalog/states/lifecycle.h"

namespace atl::models {
namespace {

bool loses_instances(const ModelParts& before, const ModelParts& after) {
  return std::any_of(before.instances.begin(), before.instances.end(), [&](const auto& instance) {
    return std::find(after.instances.begin(), after.instances.end(), instance) == after.instances.end();
  });
}

}  // namespace

void Lifecycle::prepare(const AttemptPtr& attempt) {
  PrepareProgress progress;
  const std::shared_ptr<const PreparedModel> loaded =
      look([&](const ModelRecords& records) { return records.find(attempt->model)->loaded; });
  if (loaded != nullptr && attempt->order.only_reschedules()) {
    attempt->was_read = true;
    attempt->prepared = loaded;
    return loaded->ensemble ? await_members(attempt) : build(attempt);
  }
  Result<PreparedModel> prepared = guarded("loading", [&]() -> Result<PreparedModel> {
    return loader_->prepare(attempt->model, attempt->order, loaded.get(), &progress);
  });
  attempt->was_read = progress.was_read;
  if (!prepared.ok()) return fail_prepare(attempt, std::move(prepared).status(), progress.exists);
  attempt->prepared = std::make_shared<const PreparedModel>(std::move(prepared).value());
  if (attempt->prepared->ensemble) return await_members(attempt);
  build(attempt);
}

/// \returns false if the attempt is out of date.
bool Lifecycle::select_needed(Attempt& attempt) {
  if (!current(attempt)) return false;
  const PreparedModel& prepared = *attempt.prepared;
  ModelRecord& record = records_.at(attempt.model);
  bool may_keep = !attempt.order.rebuild && (!prepared.ensemble || record.built_on == attempt.built_on);
  for (const RepositoryVersion& version : prepared.versions) {
    VersionRecord& state = record.versions[version.version];
    const bool ready = state.state == ModelState::kReady;
    const ModelParts* parts = ready && may_keep && state.served->ready() ? &state.served->parts() : nullptr;
    const bool reschedule = parts != nullptr && (attempt.order.reschedule || scheduler_is_gone(*parts));
    if (parts != nullptr && !reschedule && is_same_version(*parts->source, prepared, version.version)) {
      attempt.kept.push_back(state.served);
      continue;
    }
    attempt.needed.push_back(version);
    attempt.bases.emplace_back();
    // Sequences that run are bound to their scheduler, and ensembles have no instances.
    const bool can_share = parts != nullptr && (!reschedule || is_stateless(parts->scheduler_wish.kind));
    if (can_share && differs_in_instances(*parts->source, prepared, version.version)) {
      state.served->add_reference();
      attempt.bases.back() = ModelRef(state.served);
    }
    if (!ready) records_.set_state(attempt.model, version.version, ModelState::kLoading, "");
  }
  return true;
}

void Lifecycle::build(const AttemptPtr& attempt) {
  const std::string& model = attempt->model;
  bool is_current = false;
  {
    std::scoped_lock lock(mutex_);
    is_current = select_needed(*attempt);
  }
  if (!is_current) return finish(attempt, outdated());

  Built built(attempt->needed.size());
  std::vector<VersionFailure> failures = build_versions(*attempt, built);
  if (!failures.empty()) {
    built.clear();
    attempt->bases.clear();
    return fail_versions(attempt, failures);
  }
  bool changed = false;
  if (Status status = commit(attempt, built, &changed); !status.ok()) {
    built.clear();
    attempt->bases.clear();
    host_.log().warning("load of '", model, "' is dropped: ", status.text());
    return finish(attempt, status);
  }
  for (size_t i = 0; i < attempt->needed.size(); ++i) {
    if (attempt->bases[i]) continue;
    host_.log().info("successfully loaded '", model, "' version ", attempt->needed[i].version);
  }
  attempt->bases.clear();
  if (!changed) host_.log().debug("'", model, "' is loaded as it is in its repository");
  // Before the end is told: an ensemble that waits for this model builds on it anyhow.
  if (changed) reload_above(model);
  finish(attempt, {});
}

/// All at once, as far as there are workers. \returns the failures; of other versions, `built` has one each
std::vector<Lifecycle::VersionFailure> Lifecycle::build_versions(const Attempt& attempt, Built& built) {
  std::vector<VersionFailure> outcomes(built.size());
  parallel_for(host_.workers(), host_.gate(), built.size(), [&](size_t i) {
    using BuiltOne = Result<std::unique_ptr<ServedModel>>;
    const RepositoryVersion& version = attempt.needed[i];
    outcomes[i].version = version.version;
    // What is published is made by the loader.
    auto* base = static_cast<ServedModel*>(attempt.bases[i].get());
    BuiltOne one = guarded("loading", [&]() -> BuiltOne {
      if (base != nullptr) return loader_->build_on(*base, attempt.prepared, &outcomes[i].missing);
      return loader_->build(attempt.prepared, version, &outcomes[i].missing);
    });
    if (one.ok()) {
      built[i] = std::move(one).value();
    } else {
      outcomes[i].status = std::move(one).status();
    }
  });
  std::erase_if(outcomes, [](const VersionFailure& outcome) { return outcome.status.ok(); });
  return outcomes;
}

Status Lifecycle::commit(const AttemptPtr& attempt, Built& built, bool* changed) {
  std::scoped_lock lock(mutex_);
  if (!current(*attempt)) return outdated();
  ModelRecord& record = records_.at(attempt->model);
  LoadOrder again;
  for (const auto& model : built) {
    const ModelParts& parts = model->parts();
    const MissingService gone = gone_since(*attempt, parts);
    if (!gone.interface_id.empty()) {
      const bool backend = gone.interface_id == Backend::kInterfaceId;
      Status removed = unavailable(backend ? "backend '" : "scheduler '", gone.name, "' was removed");
      for (auto& [version, state] : record.versions) {
        if (state.state == ModelState::kLoading) {
          records_.set_state(attempt->model, version, ModelState::kUnavailable, failure_reason(removed));
        }
      }
      record.missing_interface = gone.interface_id;
      record.missing_name = gone.name;
      return removed;
    }
    again.rebuild |= !parts.backend_instance.empty() &&
                     changed_since(*attempt, Backend::kInterfaceId, parts.backend_instance,
                                   ServiceChanged::Kind::kReplaced);
    again.rebuild |= admission_changed_since(*attempt, parts);
    again.reschedule |= scheduler_changed_since(*attempt, parts);
  }
  *changed = adopt(attempt, record, built);
  if (again.rebuild || again.reschedule) enqueue(record.waiting, std::move(again));
  return {};
}

/// \returns whether anything else is served than before.
bool Lifecycle::adopt(const AttemptPtr& attempt, ModelRecord& record, Built& built) {
  const std::string& model = attempt->model;
  record.loaded = attempt->prepared;
  record.requested |= attempt->order.requested;
  record.failure.clear();
  record.logged_failure.clear();
  record.missing_interface.clear();
  record.missing_name.clear();
  record.members = attempt->prepared->members;
  record.built_on = attempt->built_on;
  record.suspended = false;
  if (built.empty() && record.ready_versions().size() == attempt->kept.size()) return false;
  record.committed = attempt->operation;

  std::vector<ServedModel*> serving = attempt->kept;
  for (auto& one : built) {
    ServedModel* served = one.release();
    int64_t version = served->info().version;
    uint64_t object = ++last_object_;
    served->on_destroyed(
        [this, model, version, object](bool destroyed) { ended(model, version, object, destroyed); });
    live_[object] = {model, served};
    serving.push_back(served);
    VersionRecord& state = record.versions[version];
    auto base = std::find_if(attempt->bases.begin(), attempt->bases.end(), [&](const ModelRef& base_ref) {
      return base_ref && base_ref.get() == state.served;
    });
    if (base != attempt->bases.end()) {
      succeeded_.insert(state.object);
      if (attempt->order.awaits_departures && loses_instances(state.served->parts(), served->parts())) {
        if (attempt->departure == nullptr) attempt->departure = std::make_shared<Departure>();
        ++attempt->departure->left;
        departures_[state.object] = attempt->departure;
      }
    }
    state.served = served;
    state.object = object;
  }
  std::sort(serving.begin(), serving.end(),
            [](const ServedModel* a, const ServedModel* b) { return a->info().version < b->info().version; });
  table_.publish(model, serving);
  std::set<int64_t> versions;
  for (const RepositoryVersion& version : attempt->prepared->versions) versions.insert(version.version);
  for (auto& [version, state] : record.versions) {
    bool ready = state.state == ModelState::kReady;
    if (versions.contains(version)) {
      if (!ready) records_.set_state(model, version, ModelState::kReady, "");
    } else if (ready) {
      state.served = nullptr;
      state.end_reason = kUnloadedReason;
      records_.set_state(model, version, ModelState::kUnloading, "");
    }
  }
  return true;
}

void Lifecycle::fail_prepare(const AttemptPtr& attempt, Status status, bool exists) {
  const std::string& model = attempt->model;
  bool serving = false;
  bool repeated = false;
  std::vector<LoadDone> cancelled;
  std::string reason = failure_reason(status);
  {
    std::scoped_lock lock(mutex_);
    if (!current(*attempt)) {
      status = outdated();
      attempt->was_read = true;
    } else {
      ModelRecord& record = records_.at(model);
      repeated = std::exchange(record.logged_failure, reason) == reason;
      // A name that no repository holds leaves no trace: clients may ask for any. What the server is started
      // with was named by its operator.
      if (exists || attempt->order.startup || !record.versions.empty()) record.failure = reason;
      take_down_stranded(model, reason, &cancelled);
      serving = record.has_ready();
    }
  }
  for (const LoadDone& done : cancelled) done({outdated(), true});
  log_failure(cat("'", model, "'"), repeated, reason, serving);
  finish(attempt, status);
}

void Lifecycle::fail_versions(const AttemptPtr& attempt, const std::vector<VersionFailure>& failures) {
  const std::string& model = attempt->model;
  std::map<int64_t, std::string> reasons;
  std::string all;
  for (const VersionFailure& failure : failures) {
    std::string reason = failure_reason(failure.status);
    all += cat("version ", failure.version, " is at UNAVAILABLE state: ", reason, ";");
    reasons.emplace(failure.version, std::move(reason));
  }
  bool serving = false;
  bool repeated = false;
  bool is_current = false;
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(mutex_);
    is_current = current(*attempt);
    ModelRecord& record = records_.at(model);
    if (is_current) {
      repeated = std::exchange(record.logged_failure, all) == all;
      record.failure.clear();
      for (const RepositoryVersion& other : attempt->needed) {
        if (record.versions[other.version].state == ModelState::kReady) continue;
        auto reason = reasons.find(other.version);
        records_.set_state(model, other.version, ModelState::kUnavailable,
                           reason != reasons.end() ? reason->second
                                                   : cat("Unavailable: not loaded, because version ",
                                                         failures[0].version, " of the same load failed"));
      }
      const MissingService& missing = failures[0].missing;
      record.missing_interface = missing.interface_id;
      record.missing_name = missing.name;
      if (may_go_well_since(*attempt, missing)) {
        enqueue(record.waiting, rebuild_order());
      }
      take_down_stranded(model, all, &cancelled);
    }
    serving = record.has_ready();
  }
  for (const LoadDone& done : cancelled) done({outdated(), true});
  for (const auto& [version, reason] : reasons) {
    log_failure(cat("'", model, "' version ", version), repeated, reason, serving);
  }
  finish(attempt, is_current ? invalid_argument(all) : outdated());
}

void Lifecycle::log_failure(const std::string& what, bool repeated, const std::string& reason, bool serving) {
  std::string text =
      cat("failed to load ", what, ": ", reason, serving ? "; what was loaded before keeps serving" : "");
  if (repeated) {
    host_.log().debug(text);
  } else {
    host_.log().error(text);
  }
}

}  // namespace atl::models
