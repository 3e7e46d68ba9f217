/// How many file descriptors there are for connections. A frontend that listens takes at most this
/// many, so that models can still be loaded under a flood of clients.
///
///     const uint64_t most = std::min<uint64_t>(configured, usable_descriptors() / 4);  // a fourth is mine
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace atl {

/// What all connections of the process together may take of `limit` file descriptors: all but a
/// reserve for model files, plugins, logs and whatever else is opened while the server serves. The
/// reserve is an eighth of the limit, but at least 64 and at most 4096. The result is at least 1.
/// [any]
constexpr uint64_t descriptors_for_connections(uint64_t limit) {
  const uint64_t reserve = std::clamp<uint64_t>(limit / 8, 64, 4096);
  return limit > reserve ? limit - reserve : 1;
}

/// The same of the process's present limit (RLIMIT_NOFILE). The server has raised that limit as far
/// as it may before it makes a plugin. All who take connections get this one number, and each keeps
/// to its own share. For start-up. [any]
inline uint64_t usable_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptors_for_connections(1024);
  return descriptors_for_connections(limit.rlim_cur);
}

}  // namespace atl
