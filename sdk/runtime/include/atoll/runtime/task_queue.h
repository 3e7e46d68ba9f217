/// Tasks and timers of one executor, in the order in which they are to run. Locking is the owner's.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"

namespace atl::runtime {

/// Runs a task. An exception, which no task may let out, ends here. \returns false if there was one.
bool run_task(const Task& task) noexcept;
void drop_task(const Task& task) noexcept;

class TaskQueue {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  void push(Task task) { ready_.push_back(task); }
  TimerId push_at(int64_t deadline_ns, Task task);
  /// Takes a timer's task out; nothing if it was taken already.
  std::optional<Task> cancel(TimerId timer);
  /// The next task that may run: a due timer first, then the oldest posted one.
  std::optional<Task> take(int64_t now_ns);
  bool empty() const { return ready_.empty() && timers_.empty(); }
  bool has_ready() const { return !ready_.empty(); }
  /// kNever without timers.
  int64_t next_deadline_ns() const { return timers_.empty() ? kNever : timers_.begin()->first.first; }
  /// Everything queued, for dropping outside the owner's lock.
  std::vector<Task> take_all();

 private:
  std::deque<Task> ready_;
  std::map<std::pair<int64_t, TimerId>, Task> timers_;
  std::unordered_map<TimerId, int64_t> deadlines_;
  TimerId next_timer_ = 1;
};

}  // namespace atl::runtime
