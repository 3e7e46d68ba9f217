/// A process: signals to it, and how it ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl {

/// How a process ended.
struct ProcessEnd {
  int signal = 0;  ///< 0: it exited
  int status = 0;  ///< it exited with; -1: nobody knows, because it is no child of this process

  /// "was killed by signal 9 (Killed)", "exited with status 1", "ended"
  std::string text() const;
};

/// One process, which keeps its number for as long as nobody has waited for it. The process lives on when this object
/// goes. Not thread safe.
class ProcessHandle {
 public:
  /// Of no process.
  ProcessHandle() = default;
  /// \param pid  of a child of this process or of any other process
  /// Errors: NOT_FOUND there is no such process; RESOURCE_EXHAUSTED no file descriptor to be had.
  static Result<ProcessHandle> open(pid_t pid);

  /// Whether there is a process that has not been waited for.
  bool valid() const noexcept { return descriptor_.valid(); }
  pid_t pid() const noexcept { return pid_; }
  /// For poll(): readable when the process has ended.
  int descriptor() const noexcept { return descriptor_.get(); }
  /// To the process alone. Does nothing to one that has ended.
  void signal(int number) const noexcept;
  /// To the processes of the group that it leads.
  void signal_group(int number) const noexcept;
  /// If it has ended, forgets it. Nothing: it runs. \param with_group  what is left of the group that it led is killed
  std::optional<ProcessEnd> reap(bool with_group = true) noexcept;
  /// Kills it with its group, waits for it and forgets it.
  void kill() noexcept;

 private:
  ProcessHandle(pid_t pid, FileDescriptor descriptor) noexcept
      : pid_(pid), descriptor_(std::move(descriptor)) {}
  std::optional<ProcessEnd> wait(int how, bool with_group) noexcept;

  pid_t pid_ = 0;
  FileDescriptor descriptor_;
};

}  // namespace atl
