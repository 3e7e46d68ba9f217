/// Running one of Slurm's programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl::launchers {

struct CommandOutput {
  int status = 0;  ///< it exited with
  std::string output;
  std::string errors;  ///< its last line on standard error, at most 400 bytes
};

/// Waits for it. \param input  what it reads \param environment  "NAME=value", beside this process's own without its ATOLL__
/// variables
/// Errors: UNAVAILABLE there is no such program, it did not end in time and was killed, or it has printed more than 16 MiB.
Result<CommandOutput> run_command(const std::vector<std::string>& words, const std::string& input,
                                  const std::vector<std::string>& environment, int64_t timeout_ns);

}  // namespace atl::launchers
