// Ensembles wait for what they are made of, and follow it.
#include <set>
#include <utility>

#include "models/catalog/states/lifecycle.h"

namespace atl::models {

/// A member that is READY is only looked at again when a client loads the ensemble, and what a client made it
/// stays.
bool Lifecycle::needs_load(const ModelRecord& record, const LoadOrder& order) const {
  if (!record.has_ready()) return true;
  return order.refresh_members && (record.loaded == nullptr || record.loaded->directory == nullptr);
}

void Lifecycle::await_members(const AttemptPtr& attempt) {
  std::vector<AttemptPtr> started;
  Status cycle;
  {
    std::scoped_lock lock(mutex_);
    std::set<std::string> members;
    for (const EnsembleMember& member : attempt->prepared->members) members.insert(member.model);
    for (const std::string& member : members) {
      if (cycle.ok()) cycle = check_cycle(waits_, attempt->model, member);
    }
    attempt->members_left = 1;
    for (const std::string& member : members) {
      if (!cycle.ok()) break;
      ModelRecord& record = records_.at(member);
      LoadDone told = [this, attempt, member](const ModelLoadOutcome& outcome) {
        member_ended(attempt, member, outcome.status);
      };
      if (record.loading) {
        record.running.push_back(std::move(told));
      } else if (needs_load(record, attempt->order)) {
        LoadOrder order;
        order.refresh_members = attempt->order.refresh_members;
        order.told.push_back(std::move(told));
        started.push_back(begin(member, std::move(order)));
      } else {
        continue;
      }
      waits_[attempt->model].insert(member);
      ++attempt->members_left;
    }
  }
  if (!cycle.ok()) {
    return fail_prepare(attempt, std::move(cycle), true);
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
  const std::vector<EnsembleMember>& members = attempt->prepared->members;
  Status status;
  {
    std::scoped_lock lock(mutex_);
    status = check_members(records_, attempt->model, members, attempt->member_failures);
    for (const EnsembleMember& member : members) {
      if (status.ok()) attempt->built_on[member.model] = records_.at(member.model).committed;
    }
  }
  if (!status.ok()) return fail_prepare(attempt, std::move(status), true);
  build(attempt);
}

void Lifecycle::reload_above(const std::string& model) {
  std::vector<std::string> above;
  {
    std::scoped_lock lock(mutex_);
    for (const std::string& name : ensembles_above(records_, model)) {
      const ModelRecord& record = *records_.find(name);
      if (waits_.contains(name) || (!record.has_ready() && !record.suspended)) continue;
      above.push_back(name);
    }
  }
  for (const std::string& name : above) rebuild(name);
}

}  // namespace atl::models
