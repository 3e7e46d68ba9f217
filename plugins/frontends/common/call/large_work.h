/// Reading and writing of large bodies, apart from the threads that answer everybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/status.h"

namespace atl::frontends {

/// Bodies above this size are read, and answers above it written, by LargeWork.
inline constexpr size_t kLargeBytes = size_t{1} << 20;

/// A few niced threads and a queue. What waits is bounded, as each piece holds a large body.
class LargeWork {
 public:
  /// Pieces that may wait.
  static constexpr size_t kMostWaiting = 256;
  /// After how long a client that was refused is to try again.
  static constexpr uint32_t kRetryAfterMs = 1000;

  LargeWork() noexcept = default;
  LargeWork(const LargeWork&) = delete;
  LargeWork& operator=(const LargeWork&) = delete;
  ~LargeWork();

  /// Before anything is posted. \param name  of the threads, which get a number behind it
  /// Errors: RESOURCE_EXHAUSTED no thread.
  Status open(ExecutorFactory& executors, std::string_view name, uint32_t threads) noexcept;

  /// Runs the task on one of the threads, the oldest first. [any] Errors: UNAVAILABLE too many wait; the task
  /// is not taken.
  Status try_post(Task task) noexcept { return add(task, kMostWaiting); }
  /// The same for what cannot be refused any more. [any]
  void post(Task task) noexcept { (void)add(task, SIZE_MAX).ok(); }

 private:
  Status add(Task task, size_t most) noexcept;
  void run_next() noexcept;

  std::mutex mutex_;
  std::deque<Task> waiting_;
  std::vector<SerialExecutorPtr> threads_;
};

}  // namespace atl::frontends
