#include "common/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace atl::frontends {
namespace {

constexpr uint32_t kMostByDefault = 8;
/// Of the container's own group, where one has its own view of the groups.
constexpr char kQuotaFile[] = "/sys/fs/cgroup/cpu.max";

uint32_t affinity_cpus() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  // On a machine with more CPUs than the set can name the call fails, and every CPU will do.
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(CPU_COUNT(&cpus));
}

uint32_t quota_cpus() noexcept {
  std::ifstream file(kQuotaFile);
  uint64_t quota_us = 0, period_us = 0;  // "max 100000" without a quota
  if (!(file >> quota_us >> period_us) || period_us == 0) return std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::min<uint64_t>((quota_us + period_us - 1) / period_us, INT32_MAX));
}

}  // namespace

uint32_t usable_cpus() noexcept { return std::max(1u, std::min(affinity_cpus(), quota_cpus())); }

uint32_t thread_count(int64_t option, uint32_t cpus) noexcept {
  return option > 0 ? static_cast<uint32_t>(option) : std::clamp(cpus, 1u, kMostByDefault);
}

}  // namespace atl::frontends
