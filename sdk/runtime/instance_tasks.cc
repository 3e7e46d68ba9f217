#include "atoll/runtime/instance_tasks.h"

#include "atoll/core/text.h"
#include "atoll/runtime/task_queue.h"

namespace atl::runtime {

bool InstanceTasks::add(Queue& queue, const Task& task) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      queue.push_back(task);
      return true;
    }
  }
  drop_task(task);
  return false;
}

void InstanceTasks::post_control(Task task) noexcept {
  if (add(control_, task))
    loop_.post(make_task([self = shared_from_this()] { self->run_next(self->control_); }));
}

void InstanceTasks::run(Task task) noexcept {
  if (add(worker_, task))
    workers_.run(make_task([self = shared_from_this()] { self->run_next(self->worker_); }));
}

void InstanceTasks::run_next(Queue& queue) noexcept {
  Task task;
  {
    std::lock_guard lock(mutex_);
    if (queue.empty()) return;  // dropped meanwhile
    task = queue.front();
    queue.pop_front();
    ++running_;
  }
  {
    CallWatch::Call watched(&queue == &control_ ? calls_ : nullptr, text_);
    if (!run_task(task) && on_throw_) on_throw_();
  }
  bool idle = false;
  {
    std::lock_guard lock(mutex_);
    --running_;
    idle = watched_ && running_ == 0 && control_.empty() && worker_.empty();
  }
  if (idle) on_idle_();
}

void InstanceTasks::watch_idle() noexcept {
  std::lock_guard lock(mutex_);
  watched_ = true;
}

void InstanceTasks::close() noexcept {
  Queue dropped;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(control_);
    dropped.insert(dropped.end(), worker_.begin(), worker_.end());
    worker_.clear();
  }
  for (const Task& task : dropped) drop_task(task);
}

int64_t InstanceTasks::pending() const noexcept {
  std::lock_guard lock(mutex_);
  return running_ + static_cast<int64_t>(control_.size() + worker_.size());
}

}  // namespace atl::runtime
