#include "atoll/runtime/thread_maker.h"

#include <utility>

namespace atl::runtime {

ThreadMaker::~ThreadMaker() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::thread ThreadMaker::make(std::function<void()> function) {
  Order order{std::move(function), {}};
  std::future<std::thread> thread = order.thread.get_future();
  {
    std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  changed_.notify_one();
  return thread.get();
}

void ThreadMaker::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !orders_.empty(); });
    if (orders_.empty()) return;
    Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    try {
      order.thread.set_value(std::thread(std::move(order.function)));
    } catch (...) {
      order.thread.set_exception(std::current_exception());
    }
    lock.lock();
  }
}

ThreadMaker& thread_maker() {
  static ThreadMaker maker;
  return maker;
}

}  // namespace atl::runtime
