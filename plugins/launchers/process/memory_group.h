/// Limits of memory, by control groups of the kernel.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::launchers {

/// Groups of servers within one that the operator gives, of version 1 or 2. [one thread at a time]
class MemoryGroups {
 public:
  /// \param directory  the group's; empty: there are no limits
  explicit MemoryGroups(std::string directory) : directory_(std::move(directory)) {}

  /// A process that has not begun gets its limit. Errors: UNAVAILABLE names file and reason.
  Status limit(std::string_view id, pid_t process, uint64_t bytes) const;
  /// Once its process has ended. Does nothing if there is none.
  void remove(std::string_view id) const noexcept;

 private:
  std::string group(std::string_view id) const { return cat(directory_, "/atoll-", id); }
  const std::string directory_;
};

}  // namespace atl::launchers
