/// One run of this very program in a process of its own, for what might end the process that does it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "atoll/status.h"

namespace atl::runtime {

/// One thread's. The environment is this process's; standard input and output are empty.
class ChildRun {
 public:
  /// How it ended.
  struct End {
    bool crashed = false;  ///< by a signal
    std::string text;      ///< what it wrote to standard error, at most 64 KiB
  };

  /// \param arguments  argv, the program's name first. Errors: UNAVAILABLE no process to be had.
  static Result<ChildRun> start(const std::vector<std::string>& arguments) noexcept;
  ChildRun(ChildRun&& other) noexcept;
  ChildRun& operator=(ChildRun&&) = delete;
  /// Ends it if it still runs.
  ~ChildRun();

  /// Nothing: it still runs. Does not wait. Not to be asked again once it has ended.
  std::optional<End> poll() noexcept;

 private:
  ChildRun(pid_t process, int output) noexcept : process_(process), output_(output) {}

  pid_t process_;  // 0: it has ended
  int output_;
};

}  // namespace atl::runtime
