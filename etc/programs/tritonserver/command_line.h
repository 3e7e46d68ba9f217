/// From arguments to options.
#pragma once

#include <iosfwd>
#include <optional>
#include <string_view>

#include "launch_options.h"

namespace atl::tritonserver {

/// Exit code of everything that keeps the server from starting, and, as in Triton, of --help.
inline constexpr int kExitFailure = 1;

/// The last line about a mistake.
inline constexpr std::string_view kSeeHelp = "'tritonserver --help' lists the options.";

/// Reads the arguments with getopt_long, which may reorder them: "--flag=value", "--flag value", any
/// unambiguous beginning of a flag's name; of a flag given again the last value counts, unless it makes a
/// list. \param err  gets what is wrong, in Triton's words, and kSeeHelp; getopt's own lines go to
/// standard error. \param environment  sets what flags leave open. \returns null if something is wrong or the
/// usage was asked for: the process ends with kExitFailure. Uses getopt's global state: one call at a time.
std::optional<LaunchOptions> read_command_line(int argc, char** argv, const EnvironmentLookup& environment,
                                               std::ostream& err);

}  // namespace atl::tritonserver
