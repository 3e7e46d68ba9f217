/// How many threads a frontend has.
#pragma once

#include <cstdint>

namespace atl::frontends {

/// CPUs that the calling thread may use, and so the threads that it makes: those of its affinity mask, and of
/// its container's quota (cgroup v2), rounded up. At least 1.
uint32_t usable_cpus() noexcept;

/// A frontend's option `threads`. More threads than CPUs cost throughput and latency: they wait for each
/// other's locks while the system switches between them. \param option  the number; 0: `cpus`, and at most 8,
/// as a thread reads tens of thousands of requests a second
uint32_t thread_count(int64_t option, uint32_t cpus) noexcept;

}  // namespace atl::frontends
