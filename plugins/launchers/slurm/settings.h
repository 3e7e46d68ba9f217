/// Options of launchers/slurm, read and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "launchers/common/command_settings.h"

namespace atl::launchers {

struct SlurmSettings : CommandSettings {
  std::vector<std::string> sbatch_options;
  bool on_node_address = false;
  int64_t poll_interval_ns = 0;
  int64_t queue_timeout_ns = 0;
  int64_t command_timeout_ns = 0;

  /// Errors: INVALID_ARGUMENT names the option.
  static void check(OptionCheck& check);
  static Result<SlurmSettings> read(const Options& options);
};

}  // namespace atl::launchers
