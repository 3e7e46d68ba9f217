/// Executors with real threads, for stress tests.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/runtime/thread_executor.h"
#include "atoll/testing/fake_clock.h"

namespace atl::test {

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

  Result<SerialExecutorPtr> create(std::string_view name, const ThreadPlacement&) noexcept override {
    return executors_.create(name, {});
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
  runtime::ThreadExecutorFactory executors_{clock_};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace atl::test
