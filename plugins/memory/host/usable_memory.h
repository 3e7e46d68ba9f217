/// How much memory the process may use.
#pragma once

#include <cstdint>
#include <string>

namespace atl::memory {

struct UsableMemory {
  uint64_t bytes = 0;  ///< 0: the system does not tell
  std::string reason;  ///< which bound it is, for logs: "physical memory"
};

/// The least of the machine's memory, the resource limits RLIMIT_AS and RLIMIT_DATA, and the limits of the
/// process's control group and the groups above it (cgroup v2 memory.max, v1 memory.limit_in_bytes). Reads
/// files: for start-up.
/// \param root  what is before /proc and /sys, for tests
UsableMemory usable_memory(const std::string& root = {});

}  // namespace atl::memory
