/// How many connections a frontend takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "atoll/core/log.h"
#include "atoll/core/usable_descriptors.h"

namespace atl::frontends {

/// Eighths of the descriptors for connections that one frontend may take at most: none leaves the others
/// nothing.
inline constexpr uint32_t kRequestShare = 6;
inline constexpr uint32_t kMetricsShare = 1;

struct ConnectionLimit {
  uint32_t connections = 0;  ///< at a time
  /// A connection with this descriptor or a higher one is too much for all frontends together: the system
  /// gives out the lowest that is free.
  int descriptor = 0;

  bool allows(int64_t count, int fd) const noexcept { return count <= connections && fd < descriptor; }

  /// The option max_connections as far as the process has descriptors for it; the log is told if it has
  /// fewer. \param usable  descriptors for connections of all frontends
  static ConnectionLimit make(uint32_t max_connections, uint32_t eighths, Log& log,
                              uint64_t usable = usable_descriptors()) {
    ConnectionLimit limit;
    limit.connections = static_cast<uint32_t>(std::clamp<uint64_t>(usable * eighths / 8, 1, max_connections));
    limit.descriptor = static_cast<int>(std::min<uint64_t>(usable, INT32_MAX));
    if (limit.connections < max_connections) {
      log.warning("max_connections is ", max_connections, ", but the process's limit of open files allows ",
                  limit.connections, ": raise the hard limit (ulimit -Hn) or lower the option");
    }
    return limit;
  }
};

}  // namespace atl::frontends
