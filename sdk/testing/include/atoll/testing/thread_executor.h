/// Executors with real threads, for stress tests.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/executor.h"
#include "atoll/testing/fake_clock.h"

namespace atl::test {

namespace thread_executor_detail {

class ThreadExecutor final : public SerialExecutor {
 public:
  explicit ThreadExecutor(const Clock& clock) : clock_(clock), thread_([this] { loop(); }) {}
  virtual ~ThreadExecutor() = default;
  void post(Task task) noexcept override {
    std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    wake_.notify_one();
  }
  TimerId post_at(int64_t deadline_ns, Task task) noexcept override {
    std::lock_guard lock(mutex_);
    TimerId id = ++last_timer_;
    timers_.emplace(std::pair(deadline_ns, id), task);
    deadlines_.emplace(id, deadline_ns);
    wake_.notify_one();
    return id;
  }
  bool cancel(TimerId timer) noexcept override {
    Task task;
    {
      std::lock_guard lock(mutex_);
      auto found = deadlines_.find(timer);
      if (found == deadlines_.end()) return false;
      auto entry = timers_.find({found->second, timer});
      task = entry->second;
      timers_.erase(entry);
      deadlines_.erase(found);
    }
    if (task.drop != nullptr) task.drop(task.argument);
    return true;
  }
  bool is_current() const noexcept override { return std::this_thread::get_id() == thread_.get_id(); }
  void destroy() noexcept override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      wake_.notify_one();
    }
    thread_.join();
    for (const auto& [key, task] : timers_) tasks_.push_back(task);
    for (const Task& task : tasks_) {
      if (task.drop != nullptr) task.drop(task.argument);
    }
    delete this;
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      while (!timers_.empty() && timers_.begin()->first.first <= clock_.now_ns()) {
        tasks_.push_back(timers_.begin()->second);
        deadlines_.erase(timers_.begin()->first.second);
        timers_.erase(timers_.begin());
      }
      if (tasks_.empty()) {
        wait(lock);
        continue;
      }
      Task task = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      task.run(task.argument);
      lock.lock();
    }
  }
  void wait(std::unique_lock<std::mutex>& lock) {
    if (timers_.empty()) {
      wake_.wait(lock);
    } else {
      // Relative to the clock handed in, which may not be the one the condition variable knows.
      wake_.wait_for(lock, std::chrono::nanoseconds(timers_.begin()->first.first - clock_.now_ns()));
    }
  }

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::map<std::pair<int64_t, TimerId>, Task> timers_;
  std::map<TimerId, int64_t> deadlines_;
  TimerId last_timer_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace thread_executor_detail

/// One thread an executor, and a few workers, all on the steady clock. Placement is not applied. [any]
class ThreadExecutors final : public ExecutorFactory, public WorkerPool {
 public:
  explicit ThreadExecutors(uint32_t worker_threads = 2) {
    for (uint32_t i = 0; i < worker_threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ThreadExecutors(const ThreadExecutors&) = delete;
  ThreadExecutors& operator=(const ThreadExecutors&) = delete;
  /// Finishes the tasks given to run().
  virtual ~ThreadExecutors() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Result<SerialExecutorPtr> create(std::string_view, const ThreadPlacement&) noexcept override {
    return SerialExecutorPtr(new thread_executor_detail::ThreadExecutor(clock_));
  }
  void run(Task task) noexcept override {
    std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    wake_.notify_one();
  }
  RealClock& clock() noexcept { return clock_; }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      Task task = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      task.run(task.argument);
      lock.lock();
    }
  }

  RealClock clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace atl::test
