/// Threads that may still touch an object after the last request that keeps it alive has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace atl::schedulers {

/// One thread's stay. The object's destructor waits for all of them.
class Inside {
 public:
  explicit Inside(std::atomic<uint32_t>& count) noexcept : count_(count) {
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { count_.fetch_sub(1, std::memory_order_release); }

 private:
  std::atomic<uint32_t>& count_;
};

/// They are on their way out: a matter of microseconds.
inline void wait_until_nobody_is_inside(const std::atomic<uint32_t>& count) noexcept {
  while (count.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

}  // namespace atl::schedulers
