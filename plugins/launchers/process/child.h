/// Starting processes, and watching them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"

namespace atl::launchers {

struct ChildSpec {
  std::vector<std::string> words;        ///< what is executed
  std::vector<std::string> environment;  ///< "NAME=value", beside this process's own
  std::string log;                       ///< file that gets what it prints
  std::span<const uint32_t> cpu_cores;   ///< that it may use; empty: those of this process
};

/// A process that was started and waits: it begins with go(), and ends when this object goes before.
class Child {
 public:
  /// In a session of its own, with none of this process's files, nor its ATOLL__ variables, which are for its own
  /// manifest. Errors: RESOURCE_EXHAUSTED no process to be had; UNAVAILABLE the log cannot be written.
  static Result<Child> start(const ChildSpec& spec);

  Child(Child&&) = default;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const noexcept { return pid_; }
  /// It executes its words. Errors: UNAVAILABLE it has ended.
  Status go();

 private:
  Child(pid_t pid, FileDescriptor go) : pid_(pid), go_(std::move(go)) {}
  pid_t pid_;
  FileDescriptor go_;
};

/// A process, be it this one's child or not.
class ProcessHandle {
 public:
  ProcessHandle() = default;
  /// Errors: NOT_FOUND; RESOURCE_EXHAUSTED no file descriptor to be had.
  static Result<ProcessHandle> open(pid_t pid);

  /// For poll(): readable when it has ended.
  int descriptor() const noexcept { return descriptor_.get(); }
  /// Does nothing to one that has ended.
  void signal(int number) const noexcept;
  /// Once it has ended. Ends what is left of a child's session too, while its number cannot be another's.
  /// \returns "it exited with status 1"; of a process that is no child nobody knows how
  std::string reap() noexcept;

 private:
  ProcessHandle(pid_t pid, FileDescriptor descriptor) : pid_(pid), descriptor_(std::move(descriptor)) {}
  pid_t pid_ = 0;
  FileDescriptor descriptor_;
};

}  // namespace atl::launchers
