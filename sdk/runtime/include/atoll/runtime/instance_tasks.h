/// The tasks that one plugin instance has given to its host's threads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/executor.h"
#include "atoll/core/text.h"
#include "atoll/runtime/call_watch.h"
#include "atoll/runtime/control_loop.h"

namespace atl::runtime {

/// Keeps the tasks itself and gives the threads only tokens, so that what is queued can be dropped on the
/// spot, while the code it belongs to is still mapped. An instance is not stopped while one is queued or
/// runs. [any]
class InstanceTasks final : public WorkerPool, public std::enable_shared_from_this<InstanceTasks> {
 public:
  /// \param on_idle   called when the last task ended, once watch_idle() was called.
  /// \param on_throw  told of tasks that let an exception out.
  InstanceTasks(ControlLoop& loop, WorkerPool& workers, std::function<void()> on_idle,
                std::function<void()> on_throw)
      : loop_(loop), workers_(workers), on_idle_(std::move(on_idle)), on_throw_(std::move(on_throw)) {}

  /// Control tasks are watched from here on. Before the first one. \param whose  names them
  void watch(CallWatch& calls, std::string_view whose) {
    calls_ = &calls;
    text_ = cat("a control task of ", whose);
  }
  void post_control(Task task) noexcept;
  void run(Task task) noexcept override;
  void watch_idle() noexcept;
  /// Drops what is queued now and whatever comes later. What runs goes on.
  void close() noexcept;
  /// Queued and running.
  int64_t pending() const noexcept;

 private:
  using Queue = std::deque<Task>;
  bool add(Queue& queue, const Task& task) noexcept;
  void run_next(Queue& queue) noexcept;

  ControlLoop& loop_;
  WorkerPool& workers_;
  CallWatch* calls_ = nullptr;
  std::string text_;  // of a control task
  const std::function<void()> on_idle_;
  const std::function<void()> on_throw_;
  mutable std::mutex mutex_;  // guards everything below
  Queue control_;
  Queue worker_;
  int64_t running_ = 0;
  bool watched_ = false;
  bool closed_ = false;
};

}  // namespace atl::runtime
