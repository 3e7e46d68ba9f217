#include "atoll/runtime/task_queue.h"

namespace atl::runtime {

bool run_task(const Task& task) noexcept {
  try {
    task.run(task.argument);
    return true;
  } catch (...) {
    return false;
  }
}

void drop_task(const Task& task) noexcept {
  try {
    if (task.drop != nullptr) task.drop(task.argument);
  } catch (...) {
    // Nobody is left who could be told: the task's owner is being torn down.
  }
}

TimerId TaskQueue::push_at(int64_t deadline_ns, Task task) {
  TimerId id = next_timer_++;
  timers_.emplace(std::pair(deadline_ns, id), task);
  deadlines_.emplace(id, deadline_ns);
  return id;
}

std::optional<Task> TaskQueue::cancel(TimerId timer) {
  auto deadline = deadlines_.find(timer);
  if (deadline == deadlines_.end()) return std::nullopt;
  auto found = timers_.find({deadline->second, timer});
  Task task = found->second;
  timers_.erase(found);
  deadlines_.erase(deadline);
  return task;
}

std::optional<Task> TaskQueue::take(int64_t now_ns) {
  if (next_deadline_ns() <= now_ns && !timers_.empty()) {
    auto due = timers_.begin();
    Task task = due->second;
    deadlines_.erase(due->first.second);
    timers_.erase(due);
    return task;
  }
  if (ready_.empty()) return std::nullopt;
  Task task = ready_.front();
  ready_.pop_front();
  return task;
}

std::vector<Task> TaskQueue::take_all() {
  std::vector<Task> all(ready_.begin(), ready_.end());
  for (const auto& [when, task] : timers_) all.push_back(task);
  ready_.clear();
  timers_.clear();
  deadlines_.clear();
  return all;
}

}  // namespace atl::runtime
