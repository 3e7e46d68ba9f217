/// The server's process, as the system knows it.
#pragma once

#include <cstdint>
#include <string>

namespace atl::frontends::console {

/// Of the whole process, since it began. [any]
double cpu_seconds() noexcept;
/// Memory of the process that is not swapped out. [any]
uint64_t resident_bytes();

/// The process, told from every other one, and when it began.
struct ProcessStart {
  std::string run;      ///< a text that no other run of the server has
  int64_t time_ms = 0;  ///< in milliseconds since 1970, by the clock of now; 0: not known
};
/// \param wall_ms  now, in milliseconds since 1970
ProcessStart process_start(int64_t wall_ms);

}  // namespace atl::frontends::console
