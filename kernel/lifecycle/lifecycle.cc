#include "kernel/lifecycle/lifecycle.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

#include "atoll/runtime/reload_counts.h"
#include "atoll/runtime/system_clock.h"

namespace atl::kernel {

/// A generation under construction.
struct Lifecycle::Build {
  std::vector<std::shared_ptr<Instance>> next;     // in start order, carried ones included
  std::vector<std::shared_ptr<Instance>> fresh;    // of those, the new ones
  std::vector<std::shared_ptr<Instance>> leaving;  // of the running ones, in start order
  std::vector<std::pair<std::shared_ptr<Instance>, std::unique_ptr<OptionValues>>>
      carried;                                               // with their new options
  std::map<std::string, std::shared_ptr<Instance>> running;  // all of the running generation, by name
  runtime::ReloadChanges changes;
  std::vector<runtime::DescribedInstance> described;  // of all in `next`
};

Lifecycle::Lifecycle(KernelContext& kernel) : kernel_(kernel) {
  kernel_.holding_of = [this](OwnerId owner) {
    auto found = std::ranges::find(current_, owner, [](const auto& instance) { return instance->owner(); });
    return found == current_.end() ? std::string() : (*found)->holding();
  };
}

const Instance* Lifecycle::find(const std::string& name) const {
  const auto found = std::ranges::find(current_, name, [](const auto& one) { return one->name(); });
  return found == current_.end() ? nullptr : found->get();
}

std::map<std::string, std::string> Lifecycle::compare(const GenerationPlan& plan, bool bound) const {
  std::map<std::string, std::string> all;
  // Providers come first in the plan, so whether a required provider is carried over is known when its holder
  // is asked.
  for (const PlannedInstance& planned : plan) {
    const Instance* const old = find(planned.config.name);
    std::string why(old == nullptr ? runtime::ReloadChanges::kNew : old->difference_from(planned, bound));
    for (const std::string& provider : planned.required) {
      if (why.empty() && !all[provider].empty()) why = cat("it needs ", provider);
    }
    all[planned.config.name] = why;
  }
  return all;
}

std::vector<InstanceDifference> Lifecycle::differences(
    GenerationPlan plan, std::vector<runtime::DescribedInstance> unopened) const {
  auto why = compare(plan, unopened.empty());
  for (const auto& one : unopened)
    why[one.shown.instance] = find(one.shown.instance) == nullptr ? runtime::ReloadChanges::kNew : "file";
  for (const PlannedInstance& planned : plan) unopened.push_back(planned.described());
  return runtime::instance_differences(kernel_.control.described(), unopened, why);
}

void Lifecycle::match(Build& build, GenerationPlan plan) {
  for (const auto& instance : current_) build.running[instance->name()] = instance;
  std::set<std::string> carried;
  auto why = compare(plan);
  for (const PlannedInstance& planned : plan) {
    const std::string& name = planned.config.name;
    if (why[name].empty()) carried.insert(name);
    build.changes.planned(name, why[name]);
    build.described.push_back(planned.described());
  }
  std::set<OwnerId> leaving;
  for (const auto& instance : current_) {
    if (carried.contains(instance->name())) continue;
    leaving.insert(instance->owner());
    instance->set_retires(true);
    build.leaving.push_back(instance);
  }
  kernel_.services.open_next(leaving);
  for (PlannedInstance& planned : plan) {
    auto old = build.running.find(planned.config.name);
    if (carried.contains(planned.config.name)) {
      build.next.push_back(old->second);
      build.carried.emplace_back(old->second, std::move(planned.options));
      continue;
    }
    const Instance* predecessor = old == build.running.end() ? nullptr : old->second.get();
    build.fresh.push_back(
        std::make_shared<Instance>(kernel_, std::move(planned), generation_ + 1, predecessor));
    build.next.push_back(build.fresh.back());
  }
}

Status Lifecycle::bring_up(Build& build, const std::function<bool()>& interrupted) {
  auto stop_here = [&] { return interrupted && interrupted(); };
  for (const auto& instance : build.fresh) {
    if (stop_here()) return Status(Code::kCancelled, "interrupted by a signal");
    ATOLL_RETURN_IF_ERROR(instance->create());
  }
  for (const auto& instance : build.fresh) {
    if (stop_here()) return Status(Code::kCancelled, "interrupted by a signal");
    ATOLL_RETURN_IF_ERROR(instance->start());
  }
  return {};
}

Status Lifecycle::apply(GenerationPlan plan, int64_t drain_timeout_ns,
                        const std::function<bool()>& interrupted) {
  assert(kernel_.loop.is_current());
  Build build;
  match(build, std::move(plan));
  if (Status status = bring_up(build, interrupted); !status.ok()) {
    kernel_.services.abandon_next();
    for (const auto& instance : build.leaving) instance->set_retires(false);
    for (const auto& instance : build.fresh) {
      instance->leave_manifest();
      instance->undo_quietly();
    }
    retire(std::move(build.fresh), drain_timeout_ns);
    return status;
  }
  swap(build);
  retire(std::move(build.leaving), drain_timeout_ns);
  return {};
}

void Lifecycle::swap(Build& build) {
  std::vector<ServiceChange> changes = kernel_.services.commit_next();
  ++generation_;
  current_ = std::move(build.next);
  for (auto& [instance, options] : build.carried) {
    if (instance->follow(std::move(options))) build.changes.followed(instance->name());
  }
  std::set<std::string> fresh;
  for (const auto& instance : build.fresh) fresh.insert(instance->name());
  for (const auto& instance : build.leaving) {
    if (fresh.contains(instance->name())) {
      instance->disown_name();
    } else {
      instance->leave_manifest();
      build.changes.removed(instance->name());
    }
  }
  changes_ = build.changes.text();
  kernel_.control.set_running(generation_, std::move(build.described));
  for (const auto& instance : build.fresh) {
    if (build.running.contains(instance->name())) instance->own_name();
  }
  publish_changes(kernel_, changes);
}

void Lifecycle::shut_down(int64_t drain_timeout_ns) {
  std::vector<std::shared_ptr<Instance>> all;
  all.swap(current_);
  retire(std::move(all), drain_timeout_ns);
}

void Lifecycle::retire(std::vector<std::shared_ptr<Instance>> instances, int64_t drain_timeout_ns) {
  if (instances.empty()) return;
  retirements_.emplace_back(kernel_, std::move(instances),
                            runtime::deadline_after(kernel_.clock.now_ns(), drain_timeout_ns));
  kernel_.poke();
}

void Lifecycle::step() {
  assert(kernel_.loop.is_current());
  if (stepping_) return;  // a plugin's function ran tasks of the loop
  stepping_ = true;
  // What one retirement ends may be what another waits for.
  for (bool progress = true; progress;) {
    progress = false;
    for (Retirement& retirement : retirements_) {
      for (auto& ended : retirement.step()) {
        ended_.push_back(std::move(ended));
        progress = true;
      }
    }
    retirements_.remove_if([](const Retirement& retirement) { return retirement.done(); });
  }
  while (ended_.size() > kEndedKept) ended_.pop_front();
  stepping_ = false;
}

std::string Lifecycle::reload_waits_for() const {
  std::vector<const Retirement*> within;  // their deadlines; what overran is left alone
  for (const Retirement& retirement : retirements_) {
    if (!retirement.overrun()) within.push_back(&retirement);
  }
  auto text = [&](const Retirement& retirement) {
    const int64_t left_ns = std::max<int64_t>(0, retirement.deadline_ns() - kernel_.clock.now_ns());
    return cat(retirement.held_by(), "; at most ", (left_ns + kNsPerSecond - 1) / kNsPerSecond, " s");
  };
  for (const Retirement* one : within) {
    if (one->bars_a_return()) return cat("what was removed and may not be made again yet: ", text(*one));
  }
  if (within.size() < kRetiringMost) return {};
  const auto first = *std::min_element(within.begin(), within.end(), [](const auto* a, const auto* b) {
    return a->deadline_ns() < b->deadline_ns();
  });
  return cat("one of ", within.size(), " old generations that retire: ", text(*first));
}

}  // namespace atl::kernel
