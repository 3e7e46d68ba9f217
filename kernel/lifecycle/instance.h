/// One plugin instance of one generation, from declared to unloaded.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "atoll/core/events.h"
#include "atoll/core/host.h"
#include "atoll/core/options_follower.h"
#include "atoll/runtime/instance_tasks.h"
#include "atoll/runtime/plugin_states.h"
#include "atoll/runtime/thread_executor.h"
#include "kernel/lifecycle/kernel_context.h"
#include "kernel/lifecycle/plan.h"

namespace atl::kernel {

using runtime::InstanceState, runtime::may_follow, runtime::state_name;

/// [control], but for the Host it hands its plugin.
class Instance final : private Host {
 public:
  /// \param predecessor  the running instance of the same name that this one will replace; may be null.
  Instance(KernelContext& kernel, PlannedInstance planned, uint64_t generation, const Instance* predecessor);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  virtual ~Instance() = default;

  const std::string& name() const { return planned_.config.name; }
  std::string text() const { return planned_.text(); }
  InstanceState state() const { return state_; }
  OwnerId owner() const { return registry_.owner(); }
  /// Which of what shapes this instance is different in the plan: "plugin", "file", "needs", "options"; empty:
  /// nothing, or only options that it can follow. \param bound  the plan says who provides what
  std::string_view difference_from(const PlannedInstance& planned, bool bound) const;
  /// It was carried over into a generation that is the running one now: it goes on with that one's options.
  /// \returns whether they are others than before
  bool follow(std::unique_ptr<OptionValues> options);

  /// On failure the instance is failed and its status names it and the step.
  Status create();
  Status start();  ///< and publishes the services

  /// Withdraws, closes the gate, tells the plugin. For an instance that was not started: only lets go of its
  /// tasks.
  void begin_drain(int64_t deadline_ns);
  bool draining() const { return draining_; }
  /// Nobody is inside or holds a service, no task is queued or runs, and no worker can still be on its way
  /// out of the instance's code. If only that is left, the kernel is poked when it is over.
  bool quiescent();
  /// Stop, destroy, unload, as far as they apply. Only when quiescent.
  void finish();
  bool finished() const { return finished_; }

  /// Of two generations under one name only one tells its state as the name's; the other's events have the
  /// key "NAME@GENERATION" and are not retained.
  void own_name();
  void disown_name() { owns_name_ = false; }
  /// It is undone because the generation that it was made for failed: what it logs of its end is a
  /// consequence of that failure, and would hide it.
  void undo_quietly() { log_->demote(); }
  /// No part of the generation that is being built, or of the running one.
  void set_retires(bool retires) { retires_.store(retires); }
  /// Its present state is forgotten when it is gone.
  void leave_manifest() { leaving_ = true; }
  /// It has left the manifest, and another instance of its plugin would do harm beside it.
  bool bars_its_return() const { return leaving_ && planned_.library->has(ATOLL_PLUGIN_UNTRIED); }
  std::vector<Holding> holders() const { return kernel_.services.holders_of(owner()); }
  /// What keeps it from being quiescent, for operators; empty: nothing of its own.
  std::string held_by() const;
  /// What it says itself, drained or not.
  std::string holding() const;

 private:
  std::string_view instance_name() const noexcept override { return planned_.config.name; }
  std::string_view server_version() const noexcept override { return kernel_.version; }
  const Options& options() const noexcept override { return *planned_.options; }
  Log& log() noexcept override { return *log_; }
  Registry& registry() noexcept override { return registry_; }
  EventBus& events() noexcept override { return events_; }
  Clock& clock() noexcept override { return kernel_.clock; }
  ExecutorFactory& executors() noexcept override { return executors_; }
  WorkerPool& workers() noexcept override { return *tasks_; }
  Gate& gate() noexcept override { return gate_; }
  void post_control(Task task) noexcept override { tasks_->post_control(task); }
  bool replaces_running_instance() const noexcept override {
    return predecessor_runs_ && predecessor_runs_->load();
  }
  bool retires() const noexcept override { return retires_.load(); }

  void move_to(InstanceState state, std::string_view reason = {});
  void publish_state(std::string_view reason);
  Status failed(std::string_view step, Status cause);
  Status query_services();
  void report_leftovers();
  template <class Call>
  Status call(std::string_view step, Call&& function) const noexcept;
  template <class Call>
  void call_logged(std::string_view step, Call&& function) const noexcept;
  const OptionValues& options_now() const { return followed_ ? *followed_ : *planned_.options; }
  const atoll_plugin_v1_t& calls() const { return planned_.library->descriptor(); }

  KernelContext& kernel_;
  PlannedInstance planned_;
  const uint64_t generation_;
  const std::shared_ptr<std::atomic<bool>> runs_ = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<std::atomic<bool>> predecessor_runs_;
  std::unique_ptr<InstanceLog> log_;
  InstanceRegistry registry_;
  runtime::InstanceEvents events_;
  runtime::ThreadExecutorFactory executors_;
  std::shared_ptr<runtime::InstanceTasks> tasks_;
  Gate gate_;
  std::vector<Publication> services_;
  OptionsFollower* follower_ = nullptr;     // of the plugin's; null: it has none
  std::unique_ptr<OptionValues> followed_;  // null: still those that it was made with
  void* self_ = nullptr;
  InstanceState state_ = InstanceState::kDeclared;
  std::atomic<bool> retires_{false};
  bool started_ = false;
  bool draining_ = false;
  bool finished_ = false;
  bool owns_name_;
  bool leaving_ = false;
  std::optional<uint64_t> last_inside_;  // WorkerThreads::mark() when nobody could get in any more
};

/// ServiceChanged for each change.
void publish_changes(KernelContext& kernel, const std::vector<ServiceChange>& changes);

template <class Event>
void publish_event(runtime::EventQueue& events, const Event& event) {
  events.publish(Event::kEventId, event.key(), &event, sizeof event, true);
}

}  // namespace atl::kernel
