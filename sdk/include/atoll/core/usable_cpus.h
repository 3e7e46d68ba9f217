/// How many CPUs there are to run on, inside a container too. Plugins choose by it how many threads
/// they make where an option does not say so.
///
///     const uint32_t threads = configured == 0 ? usable_cpus() : configured;
///
/// std::thread::hardware_concurrency() does not know a container's quota of CPU time. Threads
/// beyond the quota do not make anything faster: the system stops all threads of the container when
/// the quota is used up.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>

namespace atl {

/// The number of CPUs that the calling thread may use, and so the threads that it makes. That is
/// the lower one of two: the CPUs of its affinity mask (taskset, cpusets), and its container's
/// quota of CPU time (cpu.max of cgroup v2), rounded up. At least 1. This reads a file, so it is
/// for start-up and not for requests; a quota that is changed later goes unnoticed. [any]
inline uint32_t usable_cpus() {
  constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();
  // Where there are more CPUs than a cpu_set_t can name (1024), the call fails, and nothing is
  // known.
  uint32_t by_affinity = kAny;  // where there are more CPUs than the set can name, the call fails
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) by_affinity = static_cast<uint32_t>(CPU_COUNT(&cpus));

  // The quota says how many microseconds of CPU time the container gets in each period.
  uint32_t by_quota = kAny;
  std::ifstream file("/sys/fs/cgroup/cpu.max");  // the container's own group, where it has a view of its own
  uint64_t quota_us = 0, period_us = 0;          // "max 100000" without a quota
  if (file >> quota_us >> period_us && period_us != 0) {
    by_quota = static_cast<uint32_t>(std::min<uint64_t>((quota_us + period_us - 1) / period_us, kAny));
  }
  // A quota below one CPU counts as one.
  return std::max(1u, std::min(by_affinity, by_quota));
}

}  // namespace atl
