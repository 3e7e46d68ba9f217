/// What a file says of a server that was started, so that a later process finds it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/pools/launcher.h"

namespace atl::launchers {

/// A process and no other: numbers are used again, also after the machine has been started anew.
struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t start_time = 0;  ///< clock ticks since the machine's start
  std::string boot_id;      ///< of that start

  /// Of a process that is there. Errors: NOT_FOUND; UNAVAILABLE /proc cannot be read.
  static Result<ProcessIdentity> of(pid_t pid);
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

struct ProcessRecord {
  ProcessIdentity process;
  ServerAddress address;  ///< no host of HTTP: not known yet
  std::vector<uint32_t> cpu_cores;
  std::vector<std::string> gpus;
  uint64_t memory_bytes = 0;

  /// On the disk when this returns; the file before is whole until then. Errors: UNAVAILABLE says why, without the file's name: clients get it.
  Status write(const std::string& file) const;
  /// Errors: NOT_FOUND; DATA_LOSS it is something else.
  static Result<ProcessRecord> read(const std::string& file);
};

}  // namespace atl::launchers
