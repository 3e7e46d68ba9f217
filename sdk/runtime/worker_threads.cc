#include "atoll/runtime/worker_threads.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "atoll/runtime/fault_report.h"
#include "atoll/runtime/task_queue.h"
#include "atoll/runtime/thread_maker.h"
#include "atoll/runtime/thread_placement.h"

namespace atl::runtime {

WorkerThreads::WorkerThreads(uint32_t threads, std::function<void()> on_throw)
    : size_(threads), on_throw_(std::move(on_throw)) {
  (void)thread_maker();  // before there is a niced thread to inherit from
}

WorkerThreads::~WorkerThreads() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (const Task& task : queue_) drop_task(task);
}

void WorkerThreads::run(Task task) noexcept {
  {
    std::unique_lock lock(mutex_);
    queue_.push_back(task);
    join_ended(lock);
    add_thread_if_useful();
  }
  changed_.notify_one();
}

void WorkerThreads::resize(uint32_t threads) noexcept {
  {
    std::unique_lock lock(mutex_);
    size_ = threads;
    join_ended(lock);
    add_thread_if_useful();
  }
  changed_.notify_all();
}

uint64_t WorkerThreads::mark() noexcept {
  std::lock_guard lock(mutex_);
  return started_;
}

bool WorkerThreads::settled(uint64_t mark, std::function<void()> again) noexcept {
  std::lock_guard lock(mutex_);
  if (std::none_of(executing_.begin(), executing_.end(), [&](uint64_t number) { return number <= mark; }))
    return true;
  again_ = std::move(again);
  return false;
}

void WorkerThreads::add_thread_if_useful() noexcept {
  try {
    while (running_ < size_ && idle_ < queue_.size()) add_thread();
  } catch (const std::exception&) {
    // No thread or no memory: the threads there are will do it; with none, the next run() tries again.
  }
}

void WorkerThreads::add_thread() {
  // What the thread adds to later has room: a thread that has no memory can tell nobody.
  threads_.reserve(threads_.size() + 1);
  ended_.reserve(threads_.size() + 1);
  executing_.reserve(threads_.size() + 1);
  threads_.push_back(thread_maker().make([this] { work(); }));
  ++running_;
  ++idle_;  // it will take a task before it waits
}

void WorkerThreads::work() {
  ThreadPlacement placement;
  placement.nice = kNice;
  (void)place_this_thread("atoll-worker", OwnedPlacement(placement)).ok();
  SignalStack signal_stack;
  std::unique_lock lock(mutex_);
  while (!ending_ && running_ <= size_) {
    if (queue_.empty()) {
      changed_.wait(lock);
      continue;
    }
    Task task = queue_.front();
    queue_.pop_front();
    --idle_;
    const uint64_t number = ++started_;
    executing_.push_back(number);
    lock.unlock();
    if (!run_task(task) && on_throw_) on_throw_();
    lock.lock();
    std::erase(executing_, number);
    ++idle_;
    if (!again_) continue;
    std::function<void()> again = std::exchange(again_, nullptr);
    lock.unlock();
    again();
    lock.lock();
  }
  --running_;
  --idle_;
  ended_.push_back(std::this_thread::get_id());
}

void WorkerThreads::join_ended(std::unique_lock<std::mutex>& lock) noexcept {
  while (!ended_.empty()) {
    const std::thread::id id = ended_.back();
    ended_.pop_back();
    auto found = std::find_if(threads_.begin(), threads_.end(),
                              [&](const std::thread& thread) { return thread.get_id() == id; });
    if (found == threads_.end()) continue;
    std::thread ended = std::move(*found);
    threads_.erase(found);
    lock.unlock();
    ended.join();
    lock.lock();
  }
}

}  // namespace atl::runtime
