/// The CPUs of a thread, and of the processes and threads that it makes: they inherit them.
///
///     ThreadCpus cpus(spec.cpu_cores);
///     if (cpus.failed() != 0) return invalid_argument("cpu cores: ", std::strerror(cpus.failed()));
///     pid_t child = ::fork();  // the child runs on those cores, and keeps them
///
/// Threads of a plugin's own get their CPUs from ThreadPlacement (executor.h) instead. This class
/// is for the moment in which something is started that inherits them: a child process, or the
/// threads of a foreign library.
#pragma once

#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <span>

namespace atl {

/// The set without its lowest CPU; the same set if it has one CPU only. Niced threads and processes
/// that load models leave that CPU to threads that answer requests. The reason: a waking thread
/// looks for an idle CPU. If others fill all of them, the thread may have to wait until the next
/// tick of the kernel (4 ms at 250 Hz), whatever their priority is.
inline cpu_set_t without_first(cpu_set_t cpus) noexcept {
  if (CPU_COUNT(&cpus) < 2) return cpus;
  int first = 0;
  while (!CPU_ISSET(first, &cpus)) ++first;
  CPU_CLR(first, &cpus);
  return cpus;
}

/// Restricts the calling thread for as long as this object lives, and then gives back what the
/// thread had. Made and ended on the same thread. Threads and processes that were made meanwhile
/// keep what they inherited.
class ThreadCpus {
 public:
  /// Keeps the calling thread to these CPUs. Those that the machine or the process's cpuset does
  /// not have are left out by the system, which refuses the call only where none is left.
  /// \param cores  numbers of logical CPUs, as Linux counts them from 0; empty: nothing changes
  explicit ThreadCpus(std::span<const uint32_t> cores) noexcept {
    if (cores.empty()) return;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (uint32_t core : cores) {
      // A cpu_set_t names 1024 CPUs.
      if (core < CPU_SETSIZE) CPU_SET(core, &cpus);
    }
    if (read()) set(cpus);
  }
  /// Keeps the calling thread off its first CPU, for the reason at without_first(): backends/python
  /// starts the processes of models so. This is only for speed: where it cannot be done, nothing
  /// changes.
  static ThreadCpus all_but_first() noexcept { return ThreadCpus(); }
  ThreadCpus(const ThreadCpus&) = delete;
  ThreadCpus& operator=(const ThreadCpus&) = delete;
  // Nothing can be done where this fails, as when the process's cpuset has changed meanwhile.
  ~ThreadCpus() {
    if (is_set_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

  /// 0, or the errno of the call that failed; then nothing has changed. EINVAL: none of the cores
  /// may be used.
  int failed() const noexcept { return failed_; }

 private:
  /// Of all_but_first().
  ThreadCpus() noexcept {
    if (read() && CPU_COUNT(&before_) > 1) set(without_first(before_));
  }
  // Remembers what the thread has now.
  bool read() noexcept {
    failed_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 ? 0 : errno;
    return failed_ == 0;
  }
  // sched_setaffinity() with 0 means the calling thread.
  void set(const cpu_set_t& cpus) noexcept {
    is_set_ = ::sched_setaffinity(0, sizeof cpus, &cpus) == 0;
    if (!is_set_) failed_ = errno;
  }

  /// What the thread had, and gets back.
  cpu_set_t before_;
  /// Whether the thread was restricted, and has to get back what it had.
  bool is_set_ = false;
  /// See failed().
  int failed_ = 0;
};

}  // namespace atl
