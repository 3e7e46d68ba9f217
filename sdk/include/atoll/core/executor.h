/// Threads, handed in, so that schedulers run under a deterministic executor in tests with the code that
/// serves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

/// Work to run once: a function and its argument. Trivially copyable; the argument's ownership passes to the
/// function. A task is either run exactly once or, when its executor is destroyed first, dropped through
/// `drop` (may be null).
struct Task {
  void (*run)(void* argument) = nullptr;
  void* argument = nullptr;
  void (*drop)(void* argument) = nullptr;
};

/// Wraps a callable into a Task: one heap cell that is freed after the run or the drop.
template <class F>
Task make_task(F&& function) {
  using Function = std::decay_t<F>;
  auto* cell = new Function(std::forward<F>(function));
  return Task{[](void* argument) {
                std::unique_ptr<Function> owned(static_cast<Function*>(argument));
                (*owned)();
              },
              cell, [](void* argument) { delete static_cast<Function*>(argument); }};
}

using TimerId = uint64_t;  ///< 0 is never a timer

/// Runs tasks one at a time, in the order posted. [any] for every function.
class SerialExecutor {
 public:
  virtual void post(Task task) noexcept = 0;
  /// Runs the task at or after deadline_ns of the clock that goes with this executor.
  virtual TimerId post_at(int64_t deadline_ns, Task task) noexcept = 0;
  /// \returns true if the task will not run (it is dropped); false if it ran, runs now or never existed.
  virtual bool cancel(TimerId timer) noexcept = 0;
  /// True on the thread that is running a task of this executor.
  virtual bool is_current() const noexcept = 0;
  /// Finishes the task that runs, drops the rest, joins the thread, frees the object. Not from its own tasks.
  virtual void destroy() noexcept = 0;

 protected:
  ~SerialExecutor() = default;
};

struct SerialExecutorDeleter {
  void operator()(SerialExecutor* executor) const noexcept { executor->destroy(); }
};
using SerialExecutorPtr = std::unique_ptr<SerialExecutor, SerialExecutorDeleter>;

/// Where a thread may run. Defaults: anywhere, at the process's own priority.
struct ThreadPlacement {
  int32_t nice = 0;                     ///< added to the process's nice value, 0..19; > 0: off the first CPU
  std::span<const uint32_t> cpu_cores;  ///< empty: all; borrowed during the call
  int32_t numa_node = -1;               ///< memory node to bind to; -1: none
};

/// Makes executors. What the thread that asks has (its priority, its CPUs) does not pass on to them. [any]
class ExecutorFactory {
 public:
  /// \param name  of the thread as tools show it; cut at 15 bytes.
  /// Errors: RESOURCE_EXHAUSTED no thread to be had; INVALID_ARGUMENT a core or node that does not exist.
  virtual Result<SerialExecutorPtr> create(std::string_view name,
                                           const ThreadPlacement& placement) noexcept = 0;

 protected:
  ~ExecutorFactory() = default;
};

/// A bounded number of niced threads for long control work (loading models, reading repositories). [any]
class WorkerPool {
 public:
  /// Tasks start in the order given, several at once. A task may block.
  virtual void run(Task task) noexcept = 0;

 protected:
  ~WorkerPool() = default;
};

}  // namespace atl
