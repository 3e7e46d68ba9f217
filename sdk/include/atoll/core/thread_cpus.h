/// The CPUs of a thread, and of the processes and threads that it makes.
#pragma once

#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <span>

namespace atl {

/// All but the first: niced threads and processes that load leave that one to threads that answer requests. A waking
/// thread looks for an idle CPU; where others fill all of them, it may have to wait until the next tick (4 ms at
/// 250 Hz), whatever their priority. The same set if there is one CPU only.
inline cpu_set_t without_first(cpu_set_t cpus) noexcept {
  if (CPU_COUNT(&cpus) < 2) return cpus;
  int first = 0;
  while (!CPU_ISSET(first, &cpus)) ++first;
  CPU_CLR(first, &cpus);
  return cpus;
}

/// The calling thread's, for as long as this lives; then it gets back what it had. On the thread that made it.
class ThreadCpus {
 public:
  /// \param cores  none: nothing changes. Those that cannot be are left out; see failed()
  explicit ThreadCpus(std::span<const uint32_t> cores) noexcept {
    if (cores.empty()) return;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (uint32_t core : cores) {
      if (core < CPU_SETSIZE) CPU_SET(core, &cpus);
    }
    if (read()) set(cpus);
  }
  /// See without_first(). Only for speed: where it cannot be done, nothing changes.
  static ThreadCpus all_but_first() noexcept { return ThreadCpus(); }
  ThreadCpus(const ThreadCpus&) = delete;
  ThreadCpus& operator=(const ThreadCpus&) = delete;
  ~ThreadCpus() {
    if (is_set_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

  /// 0, or the number of the error: EINVAL none of the cores may be used.
  int failed() const noexcept { return failed_; }

 private:
  ThreadCpus() noexcept {
    if (read() && CPU_COUNT(&before_) > 1) set(without_first(before_));
  }
  bool read() noexcept {
    failed_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 ? 0 : errno;
    return failed_ == 0;
  }
  void set(const cpu_set_t& cpus) noexcept {
    is_set_ = ::sched_setaffinity(0, sizeof cpus, &cpus) == 0;
    if (!is_set_) failed_ = errno;
  }

  cpu_set_t before_;
  bool is_set_ = false;
  int failed_ = 0;
};

}  // namespace atl
