/// Memory of the server's process and of those that it has started, as the system counts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace atl::frontends::console {

/// Memory of the server's process that is not swapped out, in bytes. The three parts add up to the whole.
struct ProcessMemory {
  uint64_t resident = 0;
  uint64_t anonymous = 0;  ///< what the program has taken: heaps, stacks
  uint64_t file =
      0;  ///< pages of files: the program's code, libraries, files that a model is read from in place
  uint64_t shared = 0;  ///< memory that other processes may map, too
};
/// \param status  the text of /proc/PID/status; what it lacks counts as 0
ProcessMemory process_memory_of(const std::string& status);
/// Of this process. [any]
ProcessMemory process_memory();

/// A process that this one has started, or that such a one has.
struct ChildProcess {
  int64_t pid = 0;
  std::string name;             ///< as the system has it, at most 15 bytes; any text
  uint64_t resident_bytes = 0;  ///< with what it shares with others
};
/// \param most  at most so many. Empty as well where the system keeps no lists of children. Reads a few files a process.
/// [worker]
std::vector<ChildProcess> child_processes(size_t most);

}  // namespace atl::frontends::console
