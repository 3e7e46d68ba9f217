/// How many threads a frontend has.
#pragma once

#include <algorithm>
#include <cstdint>

namespace atl::frontends {

/// A frontend's option `threads`. More threads than CPUs cost throughput and latency: they wait for each
/// other's locks while the system switches between them. \param option  the number; 0: `cpus`, and at most 8,
/// as a thread reads tens of thousands of requests a second \param cpus    as usable_cpus() says
constexpr uint32_t thread_count(int64_t option, uint32_t cpus) noexcept {
  constexpr uint32_t kMostByDefault = 8;
  return option > 0 ? static_cast<uint32_t>(option) : std::clamp(cpus, 1u, kMostByDefault);
}

}  // namespace atl::frontends
