/// A process that runs a model's Python code: how it is started, ended and watched.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "atoll/lib/process_handle.h"
#include "backends/python/process/control_group.h"

namespace atl::python {

/// What a process may take; 0 or empty: as much as the server. What the folder's groups can bound is bound so, of the process and all that it
/// starts; else by its own resource limits.
struct ProcessLimits {
  uint64_t memory_bytes = 0;  ///< in use (memory.max), else of addresses (RLIMIT_AS)
  uint64_t open_files = 0;    ///< (RLIMIT_NOFILE)
  uint64_t processes =
      0;  ///< with threads (pids.max), else of its user (RLIMIT_NPROC); that does not bind root
  std::vector<uint32_t> cpu_cores;  ///< empty: all but the first of the server's; see kAllCpusWhenReady
  GroupFolder groups;
};

struct ProcessSpec {
  std::vector<std::string> words;        ///< program, with its path, and arguments
  std::vector<std::string> environment;  ///< all of it
  int control = -1;                      ///< becomes descriptor kControlDescriptor
  ProcessLimits limits;
  std::string
      user;  ///< that the words change to, after they have set the limits of resources; empty: the server's
};

/// In the process, beside 0 (nothing), 1 and 2 (pipes).
inline constexpr int kControlDescriptor = 3;

/// Word after the control descriptor that makes a worker take all of the server's CPUs, for itself and what it has made,
/// when its model is initialised. While it loads, the first one is left to requests of other models.
inline constexpr const char* kAllCpusWhenReady = "--all-cpus-when-ready";

/// A child in a process group of its own. Destroyed, it is killed with its group and waited for. Not thread safe.
class WorkerProcess {
 public:
  WorkerProcess() = default;
  /// With the limits set before anything that it does: it waits at its control descriptor for the first message. On a
  /// thread that lives as long as the process: it is told to be killed when that thread ends.
  /// Errors: RESOURCE_EXHAUSTED no process or descriptor to be had; UNAVAILABLE the program cannot be executed, or a limit
  /// cannot be set.
  static Result<WorkerProcess> start(const ProcessSpec& spec);

  WorkerProcess(WorkerProcess&&) noexcept = default;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();

  bool is_running() const noexcept { return process_.valid(); }
  pid_t pid() const noexcept { return process_.pid(); }
  /// For poll(): readable when it has ended.
  int handle() const noexcept { return process_.descriptor(); }
  /// What it prints, not blocking. Taken once.
  FileDescriptor take_output() noexcept { return std::move(output_); }
  FileDescriptor take_errors() noexcept { return std::move(errors_); }
  /// Nothing in the system bounds how many processes it starts.
  bool may_fork_on() const noexcept { return may_fork_on_; }
  /// To the process alone.
  void signal(int number) const noexcept { process_.signal(number); }
  /// To it and what it has started, as far as that has stayed in its group.
  void signal_group(int number) const noexcept;
  /// If it has ended, ends what is left of its group, and forgets it. Nothing: it runs.
  std::optional<ProcessEnd> reap() noexcept;

 private:
  bool may_fork_on_ = false;
  ControlGroup group_;  ///< destroyed after the process
  ProcessHandle process_;
  FileDescriptor output_, errors_;
};

/// The program's path: as it is where it has a '/', else the first in `path` ("/bin:/usr/bin") that can be executed.
/// Errors: NOT_FOUND names the program and what was looked at.
Result<std::string> find_program(const std::string& program, const std::string& path);

}  // namespace atl::python
