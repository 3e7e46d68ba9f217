/// How many file descriptors there are for connections.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace atl {

/// What the connections of the whole process may take of `limit` file descriptors: all but a reserve for
/// model files, plugins, logs and whatever else is opened while serving. The reserve is an eighth,
/// 64 at least and 4096 at most. At least 1.
constexpr uint64_t descriptors_for_connections(uint64_t limit) {
  const uint64_t reserve = std::clamp<uint64_t>(limit / 8, 64, 4096);
  return limit > reserve ? limit - reserve : 1;
}

/// The same of the process's present limit, which the server has raised as far as it may before a plugin is
/// made. One number for all who take connections: each keeps its own share of it. For start-up.
inline uint64_t usable_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptors_for_connections(1024);
  return descriptors_for_connections(limit.rlim_cur);
}

}  // namespace atl
