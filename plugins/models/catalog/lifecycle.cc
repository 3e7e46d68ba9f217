#include "lifecycle.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "failure_text.h"

namespace atl::models {
namespace {

/// Building is our code, the backends' and libraries'; what throws there fails that load and nothing else.
template <class Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& error) {
    return internal_error("loading threw: ", error.what());
  } catch (...) {
    return internal_error("loading threw something that is not a std::exception");
  }
}

void tell(const std::vector<LoadDone>& told, const Status& status) {
  for (const LoadDone& done : told) done(status);
}

}  // namespace

Lifecycle::Lifecycle(Host& host, ServingContext& serving, ServingTable& table)
    : host_(host), serving_(serving), table_(table), records_(host.events()) {}

Lifecycle::~Lifecycle() { records_.forget_events(); }

void Lifecycle::load(std::vector<std::string> models, LoadCall::Done done) {
  auto call = std::make_shared<LoadCall>(host_.workers(), host_.gate(), std::move(models), std::move(done));
  // All are registered before the first one is built, so an ensemble finds its members loading.
  std::vector<AttemptPtr> attempts;
  bool refused = false;
  {
    std::scoped_lock lock(mutex_);
    refused = ending_;
    for (size_t i = 0; !refused && i < call->size(); ++i) {
      ModelRecord& record = records_.at(call->model(i));
      LoadDone told = [call, i](const Status& status) { call->finish(i, status.clone()); };
      if (record.loading) {
        record.waiting.push_back(std::move(told));
      } else {
        attempts.push_back(begin(call->model(i), record, {std::move(told)}));
      }
    }
  }
  for (size_t i = 0; refused && i < call->size(); ++i) call->finish(i, unavailable("Server exiting"));
  for (const AttemptPtr& attempt : attempts) post(attempt, &Lifecycle::prepare);
  call->all_started();
}

void Lifecycle::unload(std::vector<std::string> models, LoadCall::Done done) {
  auto call = std::make_shared<LoadCall>(host_.workers(), host_.gate(), std::move(models), std::move(done));
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < call->size(); ++i) {
      unload_locked(call->model(i), std::string(kUnloadedReason), &cancelled);
    }
  }
  tell(cancelled, outdated());
  for (size_t i = 0; i < call->size(); ++i) call->finish(i, {});
  call->all_started();
}

void Lifecycle::stop_accepting() {
  std::scoped_lock lock(mutex_);
  std::set<std::string, std::less<>> members;
  for (const auto& [model, record] : records_.all()) {
    for (const EnsembleMember& member : record.members) members.insert(member.model);
  }
  for (const auto& [model, record] : records_.all()) {
    if (members.contains(model)) continue;
    for (const auto& [version, state] : record.versions) {
      if (state.served != nullptr) state.served->stop_accepting();
    }
  }
}

void Lifecycle::end() {
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(mutex_);
    ending_ = true;
    std::vector<std::string> models;
    for (const auto& [model, record] : records_.all()) models.push_back(model);
    for (const std::string& model : models) unload_locked(model, std::string(kUnloadedReason), &cancelled);
  }
  tell(cancelled, unavailable("Server exiting"));
}

std::string Lifecycle::holding() const {
  std::scoped_lock lock(mutex_);
  std::map<std::string, uint64_t> requests;
  for (const auto& [object, live] : live_) requests[live.model] += live.object->holders();
  std::string text;
  for (const auto& [model, count] : requests) {
    if (count == 0) continue;
    text += cat(text.empty() ? "" : ", ", count, count == 1 ? " request of " : " requests of ", model);
  }
  for (const auto& [model, record] : records_.all()) {
    if (record.loading) text += cat(text.empty() ? "" : ", ", "the load of ", model);
  }
  return text;
}

void Lifecycle::start_load(const std::string& model, LoadDone done) {
  AttemptPtr attempt;
  bool refused = false;
  {
    std::scoped_lock lock(mutex_);
    refused = ending_;
    if (!refused) {
      ModelRecord& record = records_.at(model);
      if (record.loading) {
        record.waiting.push_back(std::move(done));
        return;
      }
      attempt = begin(model, record, {std::move(done)});
    }
  }
  if (refused) return done(unavailable("Server exiting"));
  post(attempt, &Lifecycle::prepare);
}

Lifecycle::AttemptPtr Lifecycle::begin(const std::string& model, ModelRecord& record,
                                       std::vector<LoadDone> told) {
  auto attempt = std::make_shared<Attempt>();
  attempt->model = model;
  attempt->operation = ++last_operation_;
  attempt->services_seen = last_change_;
  record.operation = attempt->operation;
  record.loading = true;
  record.running = std::move(told);
  return attempt;
}

void Lifecycle::post(const AttemptPtr& attempt, Step step) {
  Pass pass(host_.gate());
  if (!pass) return finish(attempt, unavailable("Server exiting"));
  host_.workers().run(make_task([this, attempt, step, pass = std::move(pass)] { run(attempt, step); }));
}

void Lifecycle::run(const AttemptPtr& attempt, Step step) noexcept { (this->*step)(attempt); }

void Lifecycle::prepare(const AttemptPtr& attempt) {
  bool exists = true;
  Result<PreparedModel> prepared =
      guarded([&]() -> Result<PreparedModel> { return loader_->prepare(attempt->model, &exists); });
  if (!prepared.ok()) return fail_prepare(attempt, std::move(prepared).status(), exists);
  attempt->prepared = std::move(prepared).value();
  if (attempt->prepared.ensemble) return await_members(attempt);
  build(attempt);
}

void Lifecycle::await_members(const AttemptPtr& attempt) {
  std::vector<AttemptPtr> started;
  std::string cycle;
  {
    std::scoped_lock lock(mutex_);
    std::set<std::string> members;
    for (const EnsembleMember& member : attempt->prepared.members) members.insert(member.model);
    for (const std::string& member : members) {
      if (cycle.empty()) cycle = find_cycle(waits_, attempt->model, member);
    }
    attempt->members_left = 1;
    for (const std::string& member : members) {
      if (!cycle.empty()) break;
      ModelRecord& record = records_.at(member);
      LoadDone told = [this, attempt, member](const Status& status) {
        member_ended(attempt, member, status);
      };
      if (record.loading) {
        record.running.push_back(std::move(told));
      } else if (!record.has_ready()) {
        started.push_back(begin(member, record, {std::move(told)}));
      } else {
        continue;
      }
      waits_[attempt->model].insert(member);
      ++attempt->members_left;
    }
  }
  if (!cycle.empty()) {
    return fail_prepare(attempt, invalid_argument("circular dependency between ensembles: ", cycle), true);
  }
  for (const AttemptPtr& member : started) post(member, &Lifecycle::prepare);
  member_ended(attempt, {}, {});
}

void Lifecycle::member_ended(const AttemptPtr& attempt, const std::string& member, const Status& status) {
  {
    std::scoped_lock lock(mutex_);
    if (!status.ok()) attempt->member_failures[member] = status.clone();
    if (auto waits = waits_.find(attempt->model); waits != waits_.end()) waits->second.erase(member);
    if (--attempt->members_left != 0) return;
    waits_.erase(attempt->model);
  }
  post(attempt, &Lifecycle::check_members_and_build);
}

void Lifecycle::check_members_and_build(const AttemptPtr& attempt) {
  Status status;
  {
    std::scoped_lock lock(mutex_);
    status = check_members(records_, attempt->model, attempt->prepared.members, attempt->member_failures);
  }
  if (!status.ok()) return fail_prepare(attempt, std::move(status), true);
  build(attempt);
}

void Lifecycle::build(const AttemptPtr& attempt) {
  const std::string& model = attempt->model;
  Status status;
  {
    std::scoped_lock lock(mutex_);
    if (!current(*attempt)) {
      status = outdated();
    } else {
      ModelRecord& record = records_.at(model);
      for (const RepositoryVersion& version : attempt->prepared.versions) {
        if (record.versions[version.version].state == ModelState::kReady) continue;
        records_.set_state(model, version.version, ModelState::kLoading, "");
      }
    }
  }
  if (!status.ok()) return finish(attempt, status);

  Built built;
  for (const RepositoryVersion& version : attempt->prepared.versions) {
    MissingService missing;
    using BuiltOne = Result<std::unique_ptr<ServedModel>>;
    BuiltOne one =
        guarded([&]() -> BuiltOne { return loader_->build(attempt->prepared, version, &missing); });
    if (!one.ok()) {
      built.clear();
      return fail_version(attempt, version.version, one.status(), missing);
    }
    built.push_back(std::move(one).value());
  }
  status = commit(attempt, built);
  if (!status.ok()) {
    built.clear();
    host_.log().warning("load of '", model, "' is dropped: ", status.text());
    return finish(attempt, status);
  }
  for (const RepositoryVersion& version : attempt->prepared.versions) {
    host_.log().info("successfully loaded '", model, "' version ", version.version);
  }
  // Before the end is told: an ensemble that waits for this model builds on it anyhow.
  reload_above(model);
  finish(attempt, {});
}

Status Lifecycle::commit(const AttemptPtr& attempt, Built& built) {
  std::scoped_lock lock(mutex_);
  if (!current(*attempt)) return outdated();
  ModelRecord& record = records_.at(attempt->model);
  bool again = false;
  for (const auto& model : built) {
    const ModelParts& parts = model->parts();
    for (auto [interface_id, instance, what] :
         {std::tuple(Backend::kInterfaceId, std::string_view(parts.backend_instance), "backend"),
          std::tuple(SchedulerProvider::kInterfaceId, std::string_view(parts.scheduler_instance),
                     "scheduler")}) {
      if (changed_since(*attempt, interface_id, instance, ServiceChanged::Kind::kWithdrawn)) {
        Status removed = unavailable(what, " '", instance, "' was removed");
        for (auto& [version, state] : record.versions) {
          if (state.state == ModelState::kLoading) {
            records_.set_state(attempt->model, version, ModelState::kUnavailable, failure_reason(removed));
          }
        }
        record.missing_interface = interface_id;
        record.missing_name = instance;
        return removed;
      }
      again |= changed_since(*attempt, interface_id, instance, ServiceChanged::Kind::kReplaced);
    }
  }
  adopt(attempt, record, built);
  if (again) record.waiting.push_back([](const Status&) {});
  return {};
}

void Lifecycle::adopt(const AttemptPtr& attempt, ModelRecord& record, Built& built) {
  const std::string& model = attempt->model;
  record.failure.clear();
  record.missing_interface.clear();
  record.missing_name.clear();
  record.members = attempt->prepared.members;
  record.suspended = false;
  std::vector<ServedModel*> serving;
  std::set<int64_t> versions;
  for (auto& one : built) {
    ServedModel* served = one.release();
    int64_t version = served->info().version;
    uint64_t object = ++last_object_;
    served->on_destroyed(
        [this, model, version, object](bool destroyed) { ended(model, version, object, destroyed); });
    live_[object] = {model, served};
    serving.push_back(served);
    versions.insert(version);
    record.versions[version].served = served;
    record.versions[version].object = object;
  }
  table_.publish(model, serving);
  for (auto& [version, state] : record.versions) {
    if (versions.contains(version)) {
      records_.set_state(model, version, ModelState::kReady, "");
    } else if (state.state == ModelState::kReady) {
      state.served = nullptr;
      state.end_reason = kUnloadedReason;
      records_.set_state(model, version, ModelState::kUnloading, "");
    }
  }
}

void Lifecycle::fail_prepare(const AttemptPtr& attempt, Status status, bool exists) {
  const std::string& model = attempt->model;
  bool serving = false;
  {
    std::scoped_lock lock(mutex_);
    if (!current(*attempt)) {
      status = outdated();
    } else {
      ModelRecord& record = records_.at(model);
      serving = record.has_ready();
      // A name that no repository holds leaves no trace: clients may ask for any.
      if (exists) record.failure = failure_reason(status);
    }
  }
  host_.log().error("failed to load '", model, "': ", failure_reason(status),
                    serving ? "; what was loaded before keeps serving" : "");
  finish(attempt, status);
}

void Lifecycle::fail_version(const AttemptPtr& attempt, int64_t version, const Status& status,
                             const MissingService& missing) {
  const std::string& model = attempt->model;
  std::string reason = failure_reason(status);
  bool serving = false;
  bool is_current = false;
  {
    std::scoped_lock lock(mutex_);
    is_current = current(*attempt);
    ModelRecord& record = records_.at(model);
    serving = record.has_ready();
    if (is_current) {
      for (const RepositoryVersion& other : attempt->prepared.versions) {
        if (record.versions[other.version].state == ModelState::kReady) continue;
        records_.set_state(model, other.version, ModelState::kUnavailable,
                           other.version == version ? reason
                                                    : cat("Unavailable: not loaded, because version ",
                                                          version, " of the same load failed"));
      }
      record.missing_interface = missing.interface_id;
      record.missing_name = missing.name;
      if (!missing.interface_id.empty() &&
          changed_since(*attempt, missing.interface_id, {}, ServiceChanged::Kind::kPublished)) {
        record.waiting.push_back([](const Status&) {});  // it came while the load was failing
      }
    }
  }
  host_.log().error("failed to load '", model, "' version ", version, ": ", reason,
                    serving ? "; what was loaded before keeps serving" : "");
  if (!is_current) return finish(attempt, outdated());
  finish(attempt, invalid_argument("version ", version, " is at UNAVAILABLE state: ", reason, ";"));
}

void Lifecycle::finish(const AttemptPtr& attempt, const Status& status) {
  std::vector<LoadDone> told;
  std::vector<LoadDone> refused;
  AttemptPtr next;
  {
    std::scoped_lock lock(mutex_);
    ModelRecord& record = records_.at(attempt->model);
    record.loading = false;
    told = std::move(record.running);
    record.running.clear();
    std::vector<LoadDone> waiting = std::move(record.waiting);
    record.waiting.clear();
    if (waiting.empty()) {
      if (!status.ok()) records_.forget_if_empty(attempt->model);
    } else if (ending_) {
      refused = std::move(waiting);
    } else {
      next = begin(attempt->model, record, std::move(waiting));
    }
  }
  tell(told, status);
  tell(refused, unavailable("Server exiting"));
  if (next != nullptr) post(next, &Lifecycle::prepare);
}

void Lifecycle::reload_above(const std::string& model) {
  std::vector<std::string> reload;
  {
    std::scoped_lock lock(mutex_);
    for (const std::string& name : ensembles_above(records_, model)) {
      const ModelRecord& record = *records_.find(name);
      if (waits_.contains(name) || (!record.has_ready() && !record.suspended)) continue;
      reload.push_back(name);
    }
  }
  for (const std::string& name : reload) start_load(name, [](const Status&) {});
}

}  // namespace atl::models
