/// Options of launchers/process, read and checked.
#pragma once

#include <cstdint>
#include <string>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "launchers/common/command_settings.h"
#include "launchers/process/machine_parts.h"

namespace atl::launchers {

struct ProcessSettings : CommandSettings {
  MachineParts machine;  ///< what servers may have
  std::string cgroup;    ///< directory; empty: memory is not limited
  int64_t stop_timeout_ns = 0;
  bool end_with_server = false;

  /// Errors: INVALID_ARGUMENT names the option.
  static void check(OptionCheck& check);
  static Result<ProcessSettings> read(const Options& options);
};

}  // namespace atl::launchers
