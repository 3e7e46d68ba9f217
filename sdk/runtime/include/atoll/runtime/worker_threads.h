/// The threads for long control work, shared by all plugin instances.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "atoll/core/executor.h"

namespace atl::runtime {

/// A bounded number of threads, niced below those that answer requests. Threads are made when work comes.
/// [any]
class WorkerThreads final : public WorkerPool {
 public:
  static constexpr int32_t kNice = 10;

  /// \param on_throw  told, on the worker, of a task that let an exception out; may be empty.
  explicit WorkerThreads(uint32_t threads, std::function<void()> on_throw = {});
  /// Finishes the tasks that run, drops the others.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  void run(Task task) noexcept override;
  /// Surplus threads end when their task has.
  void resize(uint32_t threads) noexcept;

  /// Stands for the tasks that run now.
  uint64_t mark() noexcept;
  /// Whether those tasks have all returned. If not, `again` is called, on a worker, when one of any task has.
  bool settled(uint64_t mark, std::function<void()> again) noexcept;

 private:
  void add_thread_if_useful() noexcept;
  void add_thread();
  void work();
  void join_ended(std::unique_lock<std::mutex>& lock) noexcept;

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  uint32_t size_;
  uint32_t running_ = 0;  // threads in work()
  uint32_t idle_ = 0;
  bool ending_ = false;
  std::deque<Task> queue_;
  uint64_t started_ = 0;             // tasks
  std::vector<uint64_t> executing_;  // those of them that run, by their number
  std::function<void()> again_;
  std::vector<std::thread> threads_;
  std::vector<std::thread::id> ended_;
  const std::function<void()> on_throw_;
};

}  // namespace atl::runtime
