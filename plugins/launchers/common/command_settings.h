/// The options that launchers have in common which start servers by a command and keep a folder for each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/core/status.h"
#include "launchers/common/instance_command.h"

namespace atl::launchers {

struct CommandSettings {
  std::string state_directory;  ///< absolute
  std::map<std::string, InstanceCommand> runtimes;
  std::string default_runtime;  ///< one of them
  bool shared_memory = false;   ///< clients of servers may register regions
  uint64_t log_bytes_max = 0;   ///< of one server

  /// The command of a runtime. \param name  empty: the default's
  /// Errors: INVALID_ARGUMENT there is no runtime of this name.
  Result<const InstanceCommand*> runtime(const std::string& name) const;
  /// Makes the folder unless it is there. Errors: INVALID_ARGUMENT names the option and why it cannot be made.
  Status make_state_directory() const;

 protected:
  /// Reports each runtime that is no command, and a folder that cannot be made. \param known  places that the launcher fills
  static void check_common(OptionCheck& check, PlaceNames known);
  /// \param atoll  the command of the runtime "atoll", unless the option names one
  /// Errors: INVALID_ARGUMENT names the option.
  Status read_common(const Options& options, std::string_view atoll, PlaceNames known);
};

}  // namespace atl::launchers
