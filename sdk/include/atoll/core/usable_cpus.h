/// How many CPUs there are to run on.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>

namespace atl {

/// CPUs that the calling thread may use, and so the threads that it makes: those of its affinity mask, and of
/// its container's quota (cgroup v2), rounded up. At least 1. Reads files: for start-up, not for requests.
inline uint32_t usable_cpus() {
  constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();
  uint32_t by_affinity = kAny;  // where there are more CPUs than the set can name, the call fails
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) by_affinity = static_cast<uint32_t>(CPU_COUNT(&cpus));

  uint32_t by_quota = kAny;
  std::ifstream file("/sys/fs/cgroup/cpu.max");  // the container's own group, where it has a view of its own
  uint64_t quota_us = 0, period_us = 0;          // "max 100000" without a quota
  if (file >> quota_us >> period_us && period_us != 0) {
    by_quota = static_cast<uint32_t>(std::min<uint64_t>((quota_us + period_us - 1) / period_us, kAny));
  }
  return std::max(1u, std::min(by_affinity, by_quota));
}

}  // namespace atl
