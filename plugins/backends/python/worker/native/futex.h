/// Futexes on memory that two processes share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace atl::python {

/// Sleeps while the word has this value, at most `timeout_ms` (negative: for ever). 0, or an errno: EAGAIN, EINTR, ETIMEDOUT.
inline int futex_wait(uint32_t* word, uint32_t value, int64_t timeout_ms) noexcept {
  timespec limit{static_cast<time_t>(timeout_ms / 1000), static_cast<long>(timeout_ms % 1000) * 1000000};
  long result = syscall(SYS_futex, word, FUTEX_WAIT, value, timeout_ms < 0 ? nullptr : &limit, nullptr, 0);
  return result == 0 ? 0 : errno;
}
inline void futex_wake(uint32_t* word) noexcept {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Of the monotonic clock.
inline int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline uint32_t load_acquire(uint32_t& word) noexcept {
  return std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire);
}
inline void store_release(uint32_t& word, uint32_t value) noexcept {
  std::atomic_ref<uint32_t>(word).store(value, std::memory_order_release);
}
inline uint32_t exchange(uint32_t& word, uint32_t value) noexcept {
  return std::atomic_ref<uint32_t>(word).exchange(value, std::memory_order_acq_rel);
}
inline void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

}  // namespace atl::python
