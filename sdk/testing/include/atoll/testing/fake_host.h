/// A host for one plugin instance without a server around it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/host.h"
#include "atoll/testing/deterministic_executor.h"
#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_event_bus.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/fake_options.h"
#include "atoll/testing/fake_registry.h"
#include "atoll/testing/print.h"
#include "atoll/testing/thread_executor.h"

namespace atl::test {

/// In simulation (the default) executors and workers run when run_until_idle() says so, in virtual time.
/// With Threads::kReal they are threads on the steady clock. In both, control tasks and events wait for the
/// test, which is the control thread.
///
///     FakeHost host;
///     host.options().set_string("greeting", "hello");
///     Hello plugin(host);
///     ASSERT_TRUE(plugin.start().ok());
///     host.events().publish(event);
///     host.run_until_idle();
///     EXPECT_TRUE(host.log().contains("hello"));
class FakeHost final : public Host {
 public:
  enum class Threads { kSimulated, kReal };

  explicit FakeHost(std::string instance_name = "test", Threads threads = Threads::kSimulated,
                    uint64_t seed = 1)
      : instance_name_(std::move(instance_name)),
        real_(threads == Threads::kReal),
        simulated_(fake_clock_, seed) {
    if (real_) threads_ = std::make_unique<ThreadExecutors>();
  }
  virtual ~FakeHost() {
    threads_.reset();
    for (const Task& task : control_) {
      if (task.drop != nullptr) task.drop(task.argument);
    }
  }

  std::string_view instance_name() const noexcept override { return instance_name_; }
  std::string_view server_version() const noexcept override { return "0.0.0-test"; }
  const FakeOptions& options() const noexcept override { return options_; }
  FakeOptions& options() noexcept { return options_; }
  RecordingLog& log() noexcept override { return log_; }
  FakeRegistry& registry() noexcept override { return registry_; }
  FakeEventBus& events() noexcept override { return events_; }
  Clock& clock() noexcept override { return real_ ? static_cast<Clock&>(threads_->clock()) : fake_clock_; }
  ExecutorFactory& executors() noexcept override {
    return real_ ? static_cast<ExecutorFactory&>(*threads_) : simulated_;
  }
  WorkerPool& workers() noexcept override { return real_ ? static_cast<WorkerPool&>(*threads_) : simulated_; }
  Gate& gate() noexcept override { return gate_; }
  void post_control(Task task) noexcept override {
    std::lock_guard lock(mutex_);
    control_.push_back(task);
  }
  bool replaces_running_instance() const noexcept override { return replaces_running_instance_; }
  bool retires() const noexcept override { return retires_; }

  /// The clock and the executors of a simulation.
  FakeClock& fake_clock() noexcept { return fake_clock_; }
  DeterministicExecutors& simulation() noexcept { return simulated_; }
  void set_replaces_running_instance(bool value) noexcept { replaces_running_instance_ = value; }
  void set_retires(bool value) noexcept { retires_ = value; }

  /// Runs the control tasks posted so far and those they post. \returns their number.
  uint64_t run_control() {
    uint64_t count = 0;
    while (true) {
      Task task;
      {
        std::lock_guard lock(mutex_);
        if (control_.empty()) return count;
        task = control_.front();
        control_.pop_front();
      }
      task.run(task.argument);
      ++count;
    }
  }
  /// Control tasks, events, workers and executors until nothing is left that is due now; the clock stays.
  void run_ready() {
    while (run_control() + events_.deliver() + simulated_.run_ready() != 0) {
    }
  }
  /// run_ready(), then timer after timer, until the clock is at the time.
  void run_until(int64_t time_ns) {
    run_ready();
    while (fake_clock_.now_ns() < time_ns) {
      if (simulated_.pending_timers() == 0) fake_clock_.advance_to(time_ns);
      simulated_.run_until(std::min(time_ns, simulated_.next_timer_ns()));
      run_ready();
    }
  }
  void run_for(int64_t duration_ns) { run_until(fake_clock_.now_ns() + duration_ns); }
  /// Until nothing at all is left, timers included: not with a timer that posts itself again.
  void run_until_idle() {
    do run_ready();
    while (simulated_.step());
  }

 private:
  std::string instance_name_;
  bool real_;
  bool replaces_running_instance_ = false;
  bool retires_ = false;
  FakeClock fake_clock_;
  DeterministicExecutors simulated_;
  std::unique_ptr<ThreadExecutors> threads_;
  FakeOptions options_;
  RecordingLog log_;
  FakeRegistry registry_;
  FakeEventBus events_;
  Gate gate_;
  std::mutex mutex_;
  std::deque<Task> control_;
};

}  // namespace atl::test
