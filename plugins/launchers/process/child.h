/// Starting processes, and watching them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/status.h"
#include "atoll/lib/process_handle.h"

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
  ~Child() { process_.kill(); }

  pid_t pid() const noexcept { return process_.pid(); }
  /// It executes its words, and outlives this object. Errors: UNAVAILABLE it has ended.
  Result<ProcessHandle> go();

 private:
  Child(ProcessHandle process, FileDescriptor go) : process_(std::move(process)), go_(std::move(go)) {}
  ProcessHandle process_;
  FileDescriptor go_;
};

}  // namespace atl::launchers
