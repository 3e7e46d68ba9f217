/// Options of launchers/slurm, read and checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "launchers/common/instance_command.h"

namespace atl::launchers {

struct SlurmSettings {
  std::string state_directory;
  std::map<std::string, InstanceCommand> runtimes;
  std::string default_runtime;
  bool shared_memory = false;  ///< clients of servers may register regions
  std::vector<std::string> sbatch_options;
  bool on_node_address = false;
  int64_t poll_interval_ns = 0;
  int64_t queue_timeout_ns = 0;
  int64_t command_timeout_ns = 0;
  uint64_t log_bytes_max = 0;

  /// Errors: INVALID_ARGUMENT names the option.
  static void check(OptionCheck& check);
  static Result<SlurmSettings> read(const Options& options);
};

}  // namespace atl::launchers
