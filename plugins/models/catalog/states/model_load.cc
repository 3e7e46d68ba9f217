#include "models/catalog/states/model_load.h"

#include <algorithm>
#include <set>
#include <utility>

#include "atoll/core/guarded.h"
#include "models/catalog/loading/failure_text.h"
#include "models/catalog/loading/parallel_for.h"

namespace atl::models {
namespace {

bool loses_instances(const ModelParts& before, const ModelParts& after) {
  return std::any_of(before.instances.begin(), before.instances.end(), [&](const auto& instance) {
    return std::find(after.instances.begin(), after.instances.end(), instance) == after.instances.end();
  });
}

/// A member that is READY is only looked at again when a client loads the ensemble, and what a client made it
/// stays.
bool needs_load(const ModelRecord& record, const LoadOrder& order) {
  if (!record.has_ready()) return true;
  return order.refresh_members && (record.loaded == nullptr || record.loaded->directory == nullptr);
}

/// The ensembles that use a model are built on what it is now.
void reload_above(LifecycleState& state, const std::string& model) {
  std::vector<std::string> above;
  {
    std::scoped_lock lock(state.mutex);
    for (const std::string& name : state.records.ensembles_above(model)) {
      const ModelRecord& record = *state.records.find(name);
      if (state.waits.contains(name) || (!record.has_ready() && !record.suspended)) continue;
      above.push_back(name);
    }
  }
  for (const std::string& name : above) ModelLoad::request(state, name, rebuild_order());
}

}  // namespace

ModelLoad::ModelLoad(LifecycleState& state, std::string model, LoadOrder order)
    : state_(state),
      model_(std::move(model)),
      order_(std::move(order)),
      operation_(++state.last_operation),
      services_seen_(state.services.last()) {
  record().operation = operation_;
  record().loading = true;
  record().running = std::exchange(order_.callbacks, {});
}

void ModelLoad::request(LifecycleState& state, const std::string& model, LoadOrder order) {
  Ptr load;
  {
    std::scoped_lock lock(state.mutex);
    if (!state.ending) load = line_up(state, model, std::move(order));
  }
  // What was lined up or begun has taken them.
  notify_all(order.callbacks, unavailable("Server exiting"));
  if (load != nullptr) load->start();
}

ModelLoad::Ptr ModelLoad::line_up(LifecycleState& state, const std::string& model, LoadOrder order) {
  ModelRecord& record = state.records.at(model);
  if (!record.loading) return std::make_shared<ModelLoad>(state, model, std::move(order));
  enqueue(record.waiting, std::move(order));
  return nullptr;
}

void ModelLoad::start() { post(&ModelLoad::prepare); }

void ModelLoad::post(void (ModelLoad::*step)()) {
  Pass pass(state_.host.gate());
  if (!pass) return finish(unavailable("Server exiting"));
  state_.host.workers().run(
      make_task([self = shared_from_this(), step, pass = std::move(pass)] { (self.get()->*step)(); }));
}

void ModelLoad::prepare() {
  std::shared_ptr<const PreparedModel> loaded;
  {
    std::scoped_lock lock(state_.mutex);
    loaded = record().loaded;
  }
  if (loaded != nullptr && order_.only_reschedules()) {
    was_read_ = true;
    agents_ = loaded->agents.lock();
    prepared_ = std::move(loaded);
  } else {
    PrepareProgress progress;
    auto prepared = guarded("loading", [&]() -> Result<PreparedModel> {
      return state_.loader->prepare(model_, order_, loaded.get(), &progress);
    });
    was_read_ = progress.was_read;
    agents_ = std::move(progress.agents);
    if (!prepared.ok()) {
      return fail_prepare(std::move(prepared).status(), progress.exists, std::move(progress.want));
    }
    prepared_ = std::make_shared<const PreparedModel>(std::move(prepared).value());
  }
  if (prepared_->ensemble) return await_members();
  build();
}

void ModelLoad::await_members() {
  std::vector<Ptr> started;
  Status cycle;
  {
    std::scoped_lock lock(state_.mutex);
    std::set<std::string> members;
    for (const EnsembleMember& member : prepared_->members) members.insert(member.model);
    for (const std::string& member : members) {
      if (cycle.ok()) cycle = check_cycle(state_.waits, model_, member);
    }
    members_left_ = 1;
    for (const std::string& member : members) {
      if (!cycle.ok()) break;
      ModelRecord& of_member = state_.records.at(member);
      LoadDone callback = [self = shared_from_this(), member](const ModelLoadOutcome& outcome) {
        self->member_ended(member, outcome.status);
      };
      if (of_member.loading) {
        of_member.running_above.push_back(std::move(callback));
      } else if (needs_load(of_member, order_)) {
        LoadOrder order;
        order.refresh_members = order_.refresh_members;
        order.callbacks.push_back(std::move(callback));
        started.push_back(line_up(state_, member, std::move(order)));
      } else {
        continue;
      }
      state_.waits[model_].insert(member);
      ++members_left_;
    }
  }
  if (!cycle.ok()) return fail_prepare(std::move(cycle), true);
  for (const Ptr& member : started) member->start();
  member_ended({}, {});
}

void ModelLoad::member_ended(const std::string& member, const Status& status) {
  {
    std::scoped_lock lock(state_.mutex);
    if (!status.ok()) member_failures_[member] = status.clone();
    if (auto waits = state_.waits.find(model_); waits != state_.waits.end()) waits->second.erase(member);
    if (--members_left_ != 0) return;
    state_.waits.erase(model_);
  }
  post(&ModelLoad::check_members_and_build);
}

void ModelLoad::check_members_and_build() {
  const std::vector<EnsembleMember>& members = prepared_->members;
  Status status;
  {
    std::scoped_lock lock(state_.mutex);
    status = check_members(state_.records, model_, members, member_failures_);
    for (const EnsembleMember& member : members) {
      if (status.ok()) built_on_[member.model] = state_.records.at(member.model).committed;
    }
  }
  if (!status.ok()) return fail_prepare(std::move(status), true);
  build();
}

void ModelLoad::build() {
  {
    std::unique_lock lock(state_.mutex);
    if (!is_current()) {
      lock.unlock();
      return finish(outdated());
    }
    select_needed();
  }
  Built built(needed_.size());
  std::vector<VersionFailure> failures = build_versions(built);
  before_.clear();  // a version that is held looks as if requests of sequences were still on it
  if (!failures.empty()) {
    built.clear();
    bases_.clear();
    return fail_versions(failures);
  }
  bool changed = false;
  if (Status status = commit(built, &changed); !status.ok()) {
    built.clear();
    bases_.clear();
    state_.host.log().warning("load of '", model_, "' is dropped: ", status.text());
    return finish(status);
  }
  if (agents_ != nullptr) agents_->loaded();
  bases_.clear();
  if (!changed) state_.host.log().debug("'", model_, "' is loaded as it is in its repository");
  // Before the end is told: an ensemble that waits for this model builds on it anyhow.
  if (changed) reload_above(state_, model_);
  finish({});
}

bool ModelLoad::is_current() const {
  const ModelRecord* record = state_.records.find(model_);
  return !state_.ending && record != nullptr && record->operation == operation_;
}

void ModelLoad::select_needed() {
  ModelRecord& record = this->record();
  const bool may_keep = !order_.rebuild && (!prepared_->ensemble || record.built_on == built_on_);
  for (const RepositoryVersion& version : prepared_->versions) {
    VersionRecord& state = record.versions[version.version];
    const bool ready = state.state == VersionState::kReady;
    const ModelParts* parts = ready && may_keep && state.served->ready() ? &state.served->parts() : nullptr;
    const bool reschedule =
        parts != nullptr && (order_.reschedule || state_.services.lost(*parts) != nullptr);
    if (parts != nullptr && !reschedule && is_made_of_the_same(*parts->source, *prepared_, version.version)) {
      kept_.push_back(state.served);
      continue;
    }
    needed_.push_back(version);
    bases_.emplace_back();
    before_.emplace_back();
    // Sequences that run are bound to their scheduler, and ensembles have no instances.
    const bool can_share = parts != nullptr && (!reschedule || parts->wanted_scheduler.is_stateless);
    if (can_share && differs_in_instances(*parts->source, *prepared_, version.version)) {
      state.served->add_reference();
      bases_.back() = ModelRef(state.served);
    } else if (ready && is_made_of_the_same(*state.served->parts().source, *prepared_, version.version)) {
      state.served->add_reference();
      before_.back() = ModelRef(state.served);
    }
    if (!ready) state_.records.begin_load(model_, version.version);
  }
}

/// All at once, as far as there are workers. \returns the failures; of other versions, `built` has one each
std::vector<ModelLoad::VersionFailure> ModelLoad::build_versions(Built& built) {
  std::vector<VersionFailure> outcomes(built.size());
  parallel_for(state_.host.workers(), state_.host.gate(), built.size(), [&](size_t i) {
    // What is published is made by the loader.
    auto* base = static_cast<ServedModel*>(bases_[i].get());
    auto* before = static_cast<ServedModel*>(before_[i].get());
    outcomes[i].version = needed_[i].version;
    outcomes[i].failure = guarded("loading", [&]() -> LoadFailure {
      if (base != nullptr) return state_.loader->build_on(*base, prepared_, &built[i]);
      return state_.loader->build(prepared_, needed_[i], before, &built[i]);
    });
  });
  std::erase_if(outcomes, [](const VersionFailure& outcome) { return outcome.failure.ok(); });
  return outcomes;
}

Status ModelLoad::commit(Built& built, bool* changed) {
  std::scoped_lock lock(state_.mutex);
  if (!is_current()) return outdated();
  ATOLL_RETURN_IF_ERROR(follow_services(built));
  *changed = adopt(built);
  // Under the lock, so that these lines stand before those that tell of the end of what was replaced.
  for (size_t i = 0; i < needed_.size(); ++i) {
    if (bases_[i]) continue;
    state_.host.log().info("successfully loaded '", model_, "' version ", needed_[i].version);
  }
  return {};
}

/// What changed since the load began is followed by another one, unless the model cannot be served at all.
Status ModelLoad::follow_services(const Built& built) {
  const std::vector<ChangedService> changes = state_.services.since(services_seen_);
  if (changes.empty()) return {};
  std::vector<SchedulerOffer> offers = scheduler_offers(state_.host.registry());
  LoadOrder again;
  for (const auto& version : built) {
    for (const ChangedService& change : changes) {
      const Consequence consequence = consequence_of(change, version->parts(), offers);
      again.rebuild |= consequence.effect == Effect::kRebuild;
      again.reschedule |= consequence.effect == Effect::kReschedule;
      if (consequence.effect != Effect::kTakeDown) continue;
      Status removed = unavailable(removal_text(change));
      for (auto& [number, state] : record().versions) {
        if (to_model_state(state.state) != ModelState::kLoading) continue;
        state_.records.end(model_, number, failure_reason(removed));
      }
      record().wants = {want_of(*consequence.cause)};
      return removed;
    }
  }
  if (again.rebuild || again.reschedule) enqueue(record().waiting, std::move(again));
  return {};
}

/// \returns whether anything else is served than before.
bool ModelLoad::adopt(Built& built) {
  ModelRecord& record = this->record();
  record.loaded = prepared_;
  record.requested |= order_.requested;
  record.forget_failure();
  state_.records.set_members(model_, prepared_->members);
  record.built_on = built_on_;
  if (built.empty() && record.ready_versions().size() == kept_.size()) return false;
  record.committed = operation_;

  std::vector<ServedModel*> serving = kept_;
  for (auto& one : built) {
    serving.push_back(one.get());
    const int64_t version = one->info().version;  // before it is given away
    publish(record.versions[version], std::move(one));
  }
  std::sort(serving.begin(), serving.end(),
            [](const ServedModel* a, const ServedModel* b) { return a->info().version < b->info().version; });
  state_.table.publish(model_, serving);
  std::set<int64_t> versions;
  for (const RepositoryVersion& version : prepared_->versions) versions.insert(version.version);
  for (auto& [number, version] : record.versions) {
    const bool ready = version.state == VersionState::kReady;
    if (!versions.contains(number)) {
      if (!ready) continue;
      release_agents(state_, *version.served);
      state_.records.begin_unload(model_, number, std::string(kUnloadedReason));
    } else if (!ready) {
      state_.records.set_state(model_, number, VersionState::kReady, "");
    }
  }
  return true;
}

/// The version has a new object, which the table is about to own.
void ModelLoad::publish(VersionRecord& version, std::unique_ptr<ServedModel> built) {
  ServedModel* served = built.release();
  const int64_t number = served->info().version;
  const uint64_t object = state_.live.add(model_, *served);
  served->on_destroyed([&state = state_, model = model_, number, object](bool destroyed) {
    version_ended(state, model, number, object, destroyed);
  });
  const bool shares = std::any_of(bases_.begin(), bases_.end(),
                                  [&](const ModelRef& base) { return base && base.get() == version.served; });
  if (shares) {
    state_.live.succeed(version.object);
    if (order_.awaits_departures && loses_instances(version.served->parts(), served->parts())) {
      state_.live.await(version.object, departure_);
    }
  }
  if (served->parts().agents != nullptr) served->parts().agents->add_version();
  if (version.served != nullptr) release_agents(state_, *version.served);
  version.served = served;
  version.object = object;
}

void ModelLoad::fail_prepare(Status status, bool exists, Want want) {
  bool serving = false;
  bool repeated = false;
  std::vector<LoadDone> cancelled;
  const std::string reason = failure_reason(status);
  {
    std::scoped_lock lock(state_.mutex);
    if (!is_current()) {
      status = outdated();
      was_read_ = true;
    } else {
      ModelRecord& record = this->record();
      repeated = record.fails_alike(reason);
      // A name that no repository holds leaves no trace: clients may ask for any. What the server is started
      // with was named by its operator.
      if (exists || order_.startup || !record.versions.empty()) record.failure = reason;
      for (auto& [number, version] : record.versions) version.note_failure(reason);
      if (!want.interface_id.empty()) {
        record.wants = {std::move(want)};
        retry_if_helped();
      }
      take_down_stranded(reason, &cancelled);
      serving = record.has_ready();
    }
  }
  notify_all(cancelled, outdated(), true);
  log_failure(cat("'", model_, "'"), repeated, reason, serving);
  finish(status);
}

void ModelLoad::fail_versions(const std::vector<VersionFailure>& failures) {
  std::map<int64_t, std::string> reasons;
  std::string all;
  for (const auto& [version, failure] : failures) {
    std::string reason = failure_reason(failure.status);
    all += cat("version ", version, " is at UNAVAILABLE state: ", reason, ";");
    reasons.emplace(version, std::move(reason));
  }
  bool serving = false;
  bool repeated = false;
  bool was_current = false;
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(state_.mutex);
    was_current = is_current();
    ModelRecord& record = this->record();
    if (was_current) {
      repeated = record.fails_alike(all);
      record.failure.clear();
      record.wants.clear();
      for (const RepositoryVersion& version : needed_) {
        if (record.versions[version.version].state == VersionState::kReady) continue;
        auto reason = reasons.find(version.version);
        state_.records.end(model_, version.version,
                           reason != reasons.end() ? reason->second
                                                   : cat("Unavailable: not loaded, because version ",
                                                         failures[0].version, " of the same load failed"));
      }
      for (const auto& [version, failure] : failures) {
        record.versions[version].note_failure(reasons.at(version));
        if (!failure.want.interface_id.empty()) record.wants.push_back(failure.want);
      }
      retry_if_helped();
      take_down_stranded(all, &cancelled);
    }
    serving = record.has_ready();
  }
  notify_all(cancelled, outdated(), true);
  for (const auto& [version, reason] : reasons) {
    log_failure(cat("'", model_, "' version ", version), repeated, reason, serving);
  }
  finish(was_current ? invalid_argument(all) : outdated());
}

/// What it failed for want of may have come while it ran.
void ModelLoad::retry_if_helped() {
  ModelRecord& record = this->record();
  const std::vector<ChangedService> changes = state_.services.since(services_seen_);
  const bool may_go_well = std::any_of(changes.begin(), changes.end(), [&](const ChangedService& change) {
    return record.is_helped_by(change);
  });
  if (may_go_well) enqueue(record.waiting, rebuild_order());
}

/// If this load was to take the model off a service that has gone, the model goes, too: it would keep the
/// plugin from ending.
void ModelLoad::take_down_stranded(const std::string& failure, std::vector<LoadDone>* cancelled) {
  const ModelRecord& record = this->record();
  if (!record.waiting.empty()) return;  // the next load decides
  for (const auto& [number, version] : record.versions) {
    if (version.served == nullptr) continue;
    const Dependency* lost = state_.services.lost(version.served->parts());
    if (lost == nullptr) continue;
    const std::string removed = removal_text({lost->interface_id, lost->instance});
    return take_down(state_, model_, want_of(*lost), cat(removed, ", and without it: ", failure), cancelled);
  }
}

void ModelLoad::log_failure(const std::string& what, bool repeated, const std::string& reason, bool serving) {
  std::string text =
      cat("failed to load ", what, ": ", reason, serving ? "; what was loaded before keeps serving" : "");
  if (repeated) {
    state_.host.log().debug(text);
  } else {
    state_.host.log().error(text);
  }
}

void ModelLoad::finish(const Status& status) {
  std::vector<LoadDone> callbacks;
  std::vector<LoadDone> above;
  std::vector<LoadDone> refused;
  Ptr next;
  if (agents_ != nullptr && !status.ok()) agents_->fail();
  agents_ = nullptr;
  prepared_ = nullptr;  // files that came with a load that failed are gone when its end is told
  {
    std::scoped_lock lock(state_.mutex);
    ModelRecord& record = this->record();
    record.loading = false;
    callbacks = std::exchange(record.running, {});
    above = std::exchange(record.running_above, {});
    if (departure_ != nullptr && departure_->left != 0) departure_->callbacks = std::exchange(callbacks, {});
    if (record.waiting.empty()) {
      if (!status.ok()) state_.records.forget_if_empty(model_);
    } else if (state_.ending) {
      for (LoadOrder& order : record.waiting) {
        for (LoadDone& done : order.callbacks) refused.push_back(std::move(done));
      }
      record.waiting.clear();
    } else {
      LoadOrder order = std::move(record.waiting.front());
      record.waiting.pop_front();
      next = line_up(state_, model_, std::move(order));
    }
    state_.records.trim();
  }
  notify_all(callbacks, status, was_read_);
  notify_all(above, status, was_read_);
  notify_all(refused, unavailable("Server exiting"));
  if (next != nullptr) next->start();
}

}  // namespace atl::models
