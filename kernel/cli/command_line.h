/// The command line of `atoll`.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/manifest/manifest.h"

namespace atl::kernel {

using runtime::ReferenceFormat;

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  ///< while running
inline constexpr int kExitUsage = 2;    ///< the command line or the manifest

enum class Action : uint32_t { kServe = 0, kCheck = 1, kList = 2 };

struct CommandLine {
  Action action = Action::kServe;
  std::string manifest_path;        ///< empty only for kList
  std::vector<Override> overrides;  ///< of --set, in order
  std::vector<std::string> trial;   ///< not empty: what try_plugins() takes
  ReferenceFormat list_format = ReferenceFormat::kText;
};

/// Parses the arguments. --help and --version are answered on `out`, errors on `err`, one line.
/// \returns what to do, or null with the process's exit code in `exit_code`.
std::optional<CommandLine> parse_command_line(int argc, const char* const* argv, std::ostream& out,
                                              std::ostream& err, int& exit_code);

/// `message`'s lines, each with "atoll: " before it.
void print_error(std::ostream& err, std::string_view message);

/// What main does: parses, then serves, checks or lists. \returns the exit code.
int run_command(int argc, const char* const* argv, char** environment, std::ostream& out, std::ostream& err);

}  // namespace atl::kernel
