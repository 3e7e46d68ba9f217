/// The thread that starts, watches and ends all workers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::python {

/// Runs what is posted, what is due, and what waits for descriptors: one thing at a time, none of which may block for long.
class WorkerLoop {
 public:
  using Work = std::function<void()>;

  explicit WorkerLoop(Clock& clock) noexcept : clock_(clock) {}
  WorkerLoop(const WorkerLoop&) = delete;
  WorkerLoop& operator=(const WorkerLoop&) = delete;
  ~WorkerLoop() { stop(); }

  /// Makes the thread if there is none. [any] Errors: RESOURCE_EXHAUSTED.
  Status start(ExecutorFactory& executors);
  /// Drops what has not run, and joins the thread. Nobody may use the loop any more. [control]
  void stop() noexcept;

  /// [any] Once it is started.
  void post(Work work);
  /// Returns when the work has run. Runs it at once on the loop's own thread. [any]
  void call(const Work& work);
  /// [control]
  bool is_started() const noexcept { return executor_ != nullptr; }
  bool is_current() const noexcept { return executor_ != nullptr && executor_->is_current(); }

  // --- on the loop's thread ---
  /// Calls `ready` whenever the descriptor can be read or is closed on its other side.
  void watch(int descriptor, Work ready);
  void unwatch(int descriptor) noexcept;
  using Timer = uint64_t;  ///< 0 is never one
  Timer at(int64_t deadline_ns, Work work);
  /// Nothing if it has run.
  void cancel(Timer timer) noexcept;

 private:
  void run() noexcept;
  void run_posted();
  void run_due();
  int wait_ms() const;
  void wake() const noexcept;

  Clock& clock_;
  std::mutex mutex_;
  std::vector<Work> posted_;
  bool stops_ = false;
  FileDescriptor events_, woken_;
  std::unordered_map<int, std::shared_ptr<Work>> watched_;
  std::map<std::pair<int64_t, Timer>, Work> timers_;
  Timer last_timer_ = 0;
  SerialExecutorPtr executor_;
};

}  // namespace atl::python
