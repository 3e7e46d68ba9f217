/// The running generation of instances, and the transaction that replaces it with the next.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/lifecycle/instance.h"
#include "kernel/lifecycle/retirement.h"

namespace atl::kernel {

/// Bring-up is a reload from nothing, and the end a reload to nothing. [control]
class Lifecycle {
 public:
  explicit Lifecycle(KernelContext& kernel);

  /// Builds the planned generation beside the running one and swaps. Instances that do not differ are carried
  /// over, the others created and started; then the registry is swapped, and what is not carried over is
  /// retired while the loop goes on. On failure only what is new is undone and the running generation never
  /// noticed. \param interrupted  asked between steps; true: give up, as for a failure (CANCELLED). Errors:
  /// one line naming the instance, the plugin, the step and the cause.
  Status apply(GenerationPlan plan, int64_t drain_timeout_ns, const std::function<bool()>& interrupted = {});

  /// What apply() would do to the instances. \param unopened  instances of plugins whose files are not open: the plan is
  /// without them and without bindings
  std::vector<InstanceDifference> differences(GenerationPlan plan,
                                              std::vector<runtime::DescribedInstance> unopened) const;

  /// Retires everything.
  void shut_down(int64_t drain_timeout_ns);

  /// Goes on with retirements; run when the kernel was poked.
  void step();
  /// Nothing is being retired.
  bool idle() const { return retirements_.empty(); }
  /// Old generations retire while the next one is built, but their number is bounded. Empty: another reload
  /// may begin now; else whom it has to wait for, and how long at most.
  std::string reload_waits_for() const;

  const std::vector<std::shared_ptr<Instance>>& instances() const { return current_; }
  uint64_t generation() const { return generation_; }
  /// What the running generation has that the one before had not, for operators: "added a; replaced b
  /// (options), c (file); removed d".
  const std::string& changes() const { return changes_; }

 private:
  struct Build;
  const Instance* find(const std::string& name) const;
  /// Why each planned instance would be made anew: ReloadChanges::kNew, as Instance::difference_from(), or because of
  /// a provider; empty: it would be carried over.
  std::map<std::string, std::string> compare(const GenerationPlan& plan, bool bound = true) const;
  void match(Build& build, GenerationPlan plan);
  Status bring_up(Build& build, const std::function<bool()>& interrupted);
  void swap(Build& build);
  void retire(std::vector<std::shared_ptr<Instance>> instances, int64_t drain_timeout_ns);

  KernelContext& kernel_;
  std::vector<std::shared_ptr<Instance>> current_;  // in start order
  std::list<Retirement> retirements_;
  // A pass is left on threads that the kernel does not know. The last one to leave may still be on its way
  // out of Gate::leave() when its instance has ended, so the memory of the latest ended instances is kept.
  static constexpr size_t kEndedKept = 32;
  static constexpr size_t kRetiringMost = 4;  // generations within their deadlines
  std::deque<std::shared_ptr<Instance>> ended_;
  uint64_t generation_ = 0;
  std::string changes_;
  bool stepping_ = false;
};

}  // namespace atl::kernel
