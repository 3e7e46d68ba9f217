/// The control thread's event loop: tasks, timers and the signals of the process.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/runtime/task_queue.h"

namespace atl::runtime {

/// The thread that makes the loop is the control thread.
class ControlLoop {
 public:
  explicit ControlLoop(const Clock& clock);
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;
  /// Drops what is queued.
  ~ControlLoop();

  void post(Task task) noexcept;                             ///< [any]
  TimerId post_at(int64_t deadline_ns, Task task) noexcept;  ///< [any]
  bool cancel(TimerId timer) noexcept;                       ///< [any] true: it will not run
  bool is_current() const noexcept { return std::this_thread::get_id() == thread_; }  ///< [any]

  /// Runs until done() is true, asked after every task; waits when there is nothing to do. [control]
  void run_until(const std::function<bool()>& done);
  /// Runs what is due now, tasks posted meanwhile included, and returns without waiting. [control]
  void run_ready();

  /// Called once in every turn of the loop, before tasks: where signals are looked at.
  void on_turn(std::function<void()> hook) { hook_ = std::move(hook); }
  /// Written to (8 bytes, eventfd) by anyone, signal handlers too, to make the loop turn.
  int wake_descriptor() const noexcept { return wake_; }
  /// Told of tasks that threw.
  void on_throw(std::function<void()> hook) { threw_ = std::move(hook); }

 private:
  bool run_one();
  void wait();
  void wake() noexcept;

  const Clock& clock_;
  const std::thread::id thread_;
  int wake_ = -1;
  std::function<void()> hook_;
  std::function<void()> threw_;
  std::mutex mutex_;  // guards queue_
  TaskQueue queue_;
};

}  // namespace atl::runtime
