#include "atoll/runtime/thread_maker.h"

#include <chrono>
#include <future>
#include <system_error>
#include <utility>

namespace atl::runtime {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{10};

/// What the system says names no thread.
std::thread make_thread(std::function<void()> function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "a thread cannot be made");
  }
}

}  // namespace

ThreadMaker::ThreadMaker() : thread_(make_thread([this] { serve(); })) {}

ThreadMaker::~ThreadMaker() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::thread ThreadMaker::make(std::function<void()> function) {
  std::promise<std::thread> made;
  std::future<std::thread> thread = made.get_future();
  run([&made, &function] {
    try {
      made.set_value(make_thread(std::move(function)));
    } catch (...) {
      made.set_exception(std::current_exception());
    }
    return true;
  });
  return thread.get();
}

void ThreadMaker::run(std::function<bool()> step) {
  std::list<std::function<bool()>> one;
  one.push_back(std::move(step));
  {
    std::lock_guard lock(mutex_);
    steps_.splice(steps_.end(), one);
  }
  changed_.notify_one();
}

void ThreadMaker::serve() {
  // Steps move from list to list, which takes no memory: nobody could be told that there is none.
  std::list<std::function<bool()>> again;
  std::unique_lock lock(mutex_);
  while (true) {
    auto has_work = [this] { return ending_ || !steps_.empty(); };
    if (again.empty()) {
      changed_.wait(lock, has_work);
    } else if (!changed_.wait_for(lock, kRetryAfter, has_work)) {
      steps_.swap(again);
    }
    if (steps_.empty()) return;  // it ends
    std::list<std::function<bool()>> step;
    step.splice(step.end(), steps_, steps_.begin());
    lock.unlock();
    if (!step.front()()) again.splice(again.end(), step);
    step.clear();
    lock.lock();
  }
}

ThreadMaker& thread_maker() {
  // Never destroyed: what a program has not taken down when it exits still has threads, which end by this one.
  static auto* maker = new ThreadMaker;
  return *maker;
}

}  // namespace atl::runtime
