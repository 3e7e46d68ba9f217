/// Threads that are handed in. A plugin does not make its own: in tests its code then runs under a
/// deterministic executor, on a simulated clock (atoll/testing/deterministic_executor.h).
///
///     Result<SerialExecutorPtr> made = host.executors().create("scheduler", {});
///     if (!made.ok()) return std::move(made).status();
///     executor_ = std::move(made).value();
///     executor_->post(make_task([this] { look(); }));
///     timer_ = executor_->post_at(host.clock().now_ns() + 5 * kNsPerMs, make_task([this] { flush(); }));
///     ...
///     executor_.reset();  // in stop(): joins the thread
///
/// An instance destroys its executors in stop() at the latest. An executor that is left afterwards
/// could run code that is not mapped any more, so the instance's file then stays mapped for good,
/// and the log has an error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"

namespace atl {

/// Work to run once: a function and its argument. The struct is trivially copyable. Whoever is
/// given a Task owns the argument, and does exactly one of two things: call `run` with it, or, when
/// the executor ends first, call `drop` with it. `drop` may be null where nothing has to be freed.
/// A task must not throw: an exception is caught and logged.
struct Task {
  void (*run)(void* argument) = nullptr;
  void* argument = nullptr;
  void (*drop)(void* argument) = nullptr;
};

/// Wraps a callable into a Task. The callable is moved to one allocation of its own, which is freed
/// after the run or the drop. Code that must not allocate fills a Task in by hand instead.
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

/// Names one timer of one executor. 0 is never a timer.
using TimerId = uint64_t;

/// Runs tasks one at a time, on one thread, in the order in which they were posted. Because no two
/// of its tasks run at the same time, what only they touch needs no lock. All functions may be
/// called from any thread, also from a task of the executor, unless said otherwise. [any]
class SerialExecutor {
 public:
  /// Queues a task behind those that wait. Does not block. Tasks that are posted while the executor
  /// ends are dropped.
  virtual void post(Task task) noexcept = 0;
  /// Runs the task when the executor's clock (Host::clock()) has reached deadline_ns, or as soon
  /// afterwards as the executor is free. Due timers run before posted tasks, the earliest first.
  virtual TimerId post_at(int64_t deadline_ns, Task task) noexcept = 0;
  /// Takes a timer back.
  /// \returns true if the task will not run; it has been dropped then. False if the task ran
  /// already, runs now, or never existed
  virtual bool cancel(TimerId timer) noexcept = 0;
  /// True if the caller is a task of this executor.
  virtual bool is_current() const noexcept = 0;
  /// Waits for the task that runs, drops the others, joins the thread, and frees the object. Must
  /// not be called from one of the executor's own tasks. SerialExecutorPtr calls it.
  virtual void destroy() noexcept = 0;

 protected:
  ~SerialExecutor() = default;
};

/// Makes SerialExecutorPtr end its executor by destroy().
struct SerialExecutorDeleter {
  void operator()(SerialExecutor* executor) const noexcept { executor->destroy(); }
};
/// Owns an executor. Where tasks post further tasks through the same pointer, end it with
/// stop_executor() (core/stop_executor.h), because reset() empties the pointer before it joins.
using SerialExecutorPtr = std::unique_ptr<SerialExecutor, SerialExecutorDeleter>;

/// Where a thread may run. The defaults leave it anywhere, at the process's own priority.
struct ThreadPlacement {
  /// Added to the process's nice value, 0..19. A thread with more than 0 leaves the process's first
  /// CPU to threads that answer requests, unless cpu_cores says otherwise.
  int32_t nice = 0;
  /// The numbers of the logical CPUs that the thread may use, as Linux counts them. Empty: all that
  /// the process has. Borrowed during the call.
  std::span<const uint32_t> cpu_cores;
  /// The memory node that the thread's allocations come from, as in /sys/devices/system/node; -1:
  /// any.
  int32_t numa_node = -1;
};

/// Makes the executors of one plugin instance, from Host::executors(). The priority and the CPUs of
/// the calling thread do not pass on to them. [any]
class ExecutorFactory {
 public:
  /// Makes an executor with a thread of its own. The thread ends after 10 s without work and timers
  /// (at once where very many threads wait for work), and the next task has it made again with the
  /// same placement.
  /// \param name  of the thread, as ps and gdb show it; cut after 15 bytes
  /// Errors: RESOURCE_EXHAUSTED if the system gives no thread; INVALID_ARGUMENT if a core or node
  /// of the placement does not exist or may not be used.
  virtual Result<SerialExecutorPtr> create(std::string_view name,
                                           const ThreadPlacement& placement) noexcept = 0;

 protected:
  ~ExecutorFactory() = default;
};

/// Threads for long control work, such as loading models and reading repositories, from
/// Host::workers(). All instances share them. Their number is the manifest's `worker_threads` (4),
/// and their nice value lies 10 above the process's, so that they stand back behind threads that
/// answer requests. [any]
class WorkerPool {
 public:
  /// Queues a task. Tasks start in the order in which they were given, several at once. A task may
  /// block, and may take minutes. An instance is not stopped while one of its tasks waits or runs;
  /// tasks that come after its end are dropped.
  virtual void run(Task task) noexcept = 0;

 protected:
  ~WorkerPool() = default;
};

}  // namespace atl
