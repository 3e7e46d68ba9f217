/// Groups of cgroup v2, which bound a worker together with all that it starts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "atoll/core/status.h"

namespace atl::python {

struct ProcessLimits;

/// A folder of cgroup v2 that was made over to the server, and what groups in it can bound.
struct GroupFolder {
  std::string path;  ///< empty: there is none
  bool memory = false, processes = false, cpu = false;

  /// Looks what can be done there, by a group that is removed again, and removes what a server that was killed has left.
  /// \param why  what cannot be bound and why; empty: all can be
  static GroupFolder open(const std::string& path, std::string& why);
};

/// One group. Destroyed, it is removed, and what still runs in it is killed. Not thread safe.
class ControlGroup {
 public:
  ControlGroup() = default;
  /// With those limits that the folder's groups can have. Errors: UNAVAILABLE
  static Result<ControlGroup> create(const GroupFolder& folder, const ProcessLimits& limits);

  ControlGroup(ControlGroup&& other) noexcept;
  ControlGroup& operator=(ControlGroup&& other) noexcept;
  ~ControlGroup() { remove(); }

  bool is_there() const noexcept { return !path_.empty(); }
  /// With what it starts from then on. Errors: UNAVAILABLE
  Status add(pid_t pid) const;
  void kill_all() const noexcept;

 private:
  explicit ControlGroup(std::string path) noexcept : path_(std::move(path)) {}
  void remove() noexcept;

  std::string path_;
};

/// Processes and threads of a process group; for limits where nothing in the system counts them.
uint64_t tasks_of_group(pid_t group) noexcept;

}  // namespace atl::python
