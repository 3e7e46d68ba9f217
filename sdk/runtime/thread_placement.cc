#include "atoll/runtime/thread_placement.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "atoll/core/thread_cpus.h"

namespace atl::runtime {
namespace {

constexpr uint32_t kNodesMax = 1024;
constexpr int kMpolBind = 2;  // <numaif.h> comes with libnuma, which nothing else needs

Status apply_nice(int32_t nice) {
  if (nice < 0 || nice > 19) return invalid_argument("thread placement: nice is ", nice, ", expected 0..19");
  if (nice == 0) return {};
  auto thread = static_cast<id_t>(::syscall(SYS_gettid));
  int now = ::getpriority(PRIO_PROCESS, thread);
  if (::setpriority(PRIO_PROCESS, thread, now + nice > 19 ? 19 : now + nice) != 0) {
    return invalid_argument("thread placement: nice ", nice, ": ", std::strerror(errno));
  }
  return {};
}

void keep_off_the_first_cpu() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return;
  set = without_first(set);
  (void)::sched_setaffinity(0, sizeof set, &set);  // it is only for speed
}

Status apply_cores(const std::vector<uint32_t>& cores) {
  auto configured = static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_CONF));
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t core : cores) {
    if (core >= configured || core >= CPU_SETSIZE) {
      return invalid_argument("thread placement: cpu core ", core, " does not exist; the machine has ",
                              configured);
    }
    CPU_SET(core, &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    return invalid_argument("thread placement: cpu core ", cores[0], ": ", std::strerror(errno));
  }
  return {};
}

Status apply_node(int32_t node) {
  if (node < 0) return {};
  if (static_cast<uint32_t>(node) >= kNodesMax ||
      ::access(cat("/sys/devices/system/node/node", node).c_str(), F_OK) != 0) {
    return invalid_argument("thread placement: memory node ", node, " does not exist");
  }
  unsigned long mask[kNodesMax / (8 * sizeof(unsigned long))] = {};
  constexpr uint32_t kBits = 8 * sizeof(unsigned long);
  mask[static_cast<uint32_t>(node) / kBits] |= 1ul << (static_cast<uint32_t>(node) % kBits);
  if (::syscall(SYS_set_mempolicy, kMpolBind, mask, kNodesMax) != 0) {
    return invalid_argument("thread placement: memory node ", node, ": ", std::strerror(errno));
  }
  return {};
}

}  // namespace

Status place_this_thread(std::string_view name, const OwnedPlacement& placement) {
  ::pthread_setname_np(::pthread_self(), std::string(name.substr(0, 15)).c_str());
  ATOLL_RETURN_IF_ERROR(apply_nice(placement.nice));
  if (!placement.cpu_cores.empty()) {
    ATOLL_RETURN_IF_ERROR(apply_cores(placement.cpu_cores));
  } else if (placement.nice > 0) {
    keep_off_the_first_cpu();
  }
  return apply_node(placement.numa_node);
}

}  // namespace atl::runtime
